// Draws the map on the canvas: dots by class, labels, and what is selected with its links.

const FONT = '13px system-ui, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';
const STRONG = `600 ${FONT}`;

class Painter {
  constructor(canvas, camera, classes) {
    this.canvas = canvas;
    this.camera = camera;
    this.classes = classes;
    this.context = canvas.getContext("2d", { alpha: false });
    this.layer = new Dots(camera, classes);
    this.takeColours();
  }

  // Read the colours of the system's present scheme from the style sheet.
  takeColours() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colours = Object.fromEntries(
      ["paper", "ink", "soft", "line", "accent", "on-accent"].map((name) => [name, colour(name)]),
    );
    this.dots = this.layer.members.map((_, label) => colour(`c${label}`));
  }

  measure(text) {
    this.context.font = FONT;
    return this.context.measureText(text).width;
  }

  resize() {
    const { width, height } = this.canvas.getBoundingClientRect();
    const ratio = globalThis.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.ratio = ratio;
    this.camera.resize(Math.max(1, width), Math.max(1, height));
  }

  // scene: { focus: rows drawn strongly, the first most of all; links: [row, row, cosine]…;
  // hovered: a row or −1; label: a class drawn alone or −1; aim: whether to show the middle }
  draw(labels, scene) {
    const { context, camera, colours } = this;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, camera.width, camera.height);
    const faint = (own) => (scene.label >= 0 ? own !== scene.label : scene.focus.length > 0);
    this.layer.draw(context, this.ratio, this.dots, faint);
    this.#drawLinks(scene.links);
    const strong = scene.hovered < 0 ? scene.focus : [...scene.focus, scene.hovered];
    const boxes = this.#placeStrong(labels, strong);
    this.#drawLabels(labels, faint, boxes);
    this.#drawStrong(labels, boxes, scene.focus[0]);
    if (scene.aim) this.#drawAim();
  }

  #drawLinks(links) {
    const { context, camera, colours } = this;
    context.strokeStyle = colours.accent;
    for (const [from, to, cosine] of links) {
      context.lineWidth = 0.5 + 2 * Math.max(0, cosine);
      context.globalAlpha = 0.6;
      context.beginPath();
      context.moveTo(camera.screenX(from), camera.screenY(from));
      context.lineTo(camera.screenX(to), camera.screenY(to));
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  #drawLabels(labels, faint, boxes) {
    const { context, camera, colours } = this;
    context.font = FONT;
    context.textBaseline = "middle";
    const strong = [...boxes.values()];
    for (const row of labels.shown()) {
      const x = camera.screenX(row) + DOT;
      const y = camera.screenY(row);
      if (y < -10 || y > camera.height + 10 || x > camera.width) continue;
      const right = x + labels.width(row);
      if (right < 0 || boxes.has(row)) continue;
      const box = [x - 3, y - 8, right + 3, y + 8];
      if (strong.some((other) => overlap(box, other))) continue;
      context.globalAlpha = 0.7; // the dots under a label fade, its letters stand out
      context.fillStyle = colours.paper;
      context.fillRect(x - 1, y - 7, right - x + 2, 14);
      context.globalAlpha = faint(this.classes[row]) ? 0.35 : 1;
      context.fillStyle = colours.ink;
      context.fillText(labels.texts[row], x, y);
    }
    context.globalAlpha = 1;
  }

  // Boxes for labels that must be seen: right, left, above or below their dot, where there is room.
  #placeStrong(labels, rows) {
    const { camera, context } = this;
    const boxes = new Map();
    context.font = STRONG;
    for (const row of new Set(rows)) {
      const width = context.measureText(labels.texts[row]).width + 10;
      const [x, y] = [camera.screenX(row), camera.screenY(row)];
      const choices = [
        [x + 7, y - 10],
        [x - 7 - width, y - 10],
        [x - width / 2, y - 29],
        [x - width / 2, y + 9],
      ].map(([left, top]) => [left, top, left + width, top + 20]);
      const free = choices.find((box) => ![...boxes.values()].some((one) => overlap(box, one)));
      if (free ?? (row === rows[0] && choices[0])) boxes.set(row, free ?? choices[0]);
    }
    return boxes;
  }

  #drawStrong(labels, boxes, first) {
    const { context, camera, colours } = this;
    context.font = STRONG;
    context.textBaseline = "middle";
    for (const [row, [left, top, right, bottom]] of boxes) {
      const chosen = row === first;
      context.fillStyle = this.dots[this.classes[row]];
      context.beginPath();
      context.arc(camera.screenX(row), camera.screenY(row), chosen ? 6 : 4.5, 0, 2 * Math.PI);
      context.fill();
      context.beginPath();
      context.roundRect(left, top, right - left, bottom - top, 5);
      context.fillStyle = chosen ? colours.accent : colours.paper;
      context.strokeStyle = chosen ? colours.accent : colours.line;
      context.lineWidth = 1;
      context.fill();
      context.stroke();
      context.fillStyle = chosen ? colours["on-accent"] : colours.ink;
      context.fillText(labels.texts[row], left + 5, (top + bottom) / 2 + 0.5);
    }
  }

  #drawAim() {
    const { context, camera, colours } = this;
    const [x, y] = [Math.round(camera.width / 2), Math.round(camera.height / 2)];
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(x + 5 * dx, y + 5 * dy);
      context.lineTo(x + 12 * dx, y + 12 * dy);
    }
    context.stroke();
  }
}
