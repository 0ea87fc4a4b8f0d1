// The words' dots, drawn once into a layer somewhat larger than the canvas; while the map is only
// moved, the layer is moved with it and nothing is drawn anew.

const MARGIN = 0.3; // of the canvas's width and height, on each side
const ROUND_BELOW = 4000; // dots in view: more of them are drawn as squares, which is faster

class Dots {
  constructor(camera, classes) {
    this.camera = camera;
    this.layer = document.createElement("canvas");
    this.context = this.layer.getContext("2d");
    this.members = [];
    classes.forEach((label, row) => (this.members[label] ??= []).push(row));
    this.drawn = undefined; // the place, and all else the layer depends on
  }

  // Put the dots on a canvas's context. `faint(label)` tells whether a class stands back.
  draw(context, ratio, colours, faint) {
    const { camera } = this;
    const [across, up] = [camera.width * MARGIN, camera.height * MARGIN];
    const faints = this.members.map((_, label) => faint(label));
    const key = [camera.scale, camera.width, camera.height, ratio, colours, faints].join();
    const away = (axis) => Math.abs(this.drawn[axis] - camera[axis]) * camera.scale;
    if (this.drawn?.key !== key || away("x") > across || away("y") > up) {
      this.drawn = { key, x: camera.x, y: camera.y };
      this.#fill(ratio, colours, faints, across, up);
    }
    const left = (this.drawn.x - camera.x) * camera.scale - across;
    const top = (camera.y - this.drawn.y) * camera.scale - up;
    context.setTransform(1, 0, 0, 1, 0, 0); // whole pixels of the screen: no dot is blurred
    context.drawImage(this.layer, Math.round(left * ratio), Math.round(top * ratio));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  #fill(ratio, colours, faints, across, up) {
    const { context, camera, layer } = this;
    layer.width = Math.round((camera.width + 2 * across) * ratio); // this clears it, too
    layer.height = Math.round((camera.height + 2 * up) * ratio);
    context.setTransform(ratio, 0, 0, ratio, across * ratio, up * ratio);
    const radius = Math.min(4, 1.3 + 0.4 * Math.log2(camera.scale / camera.smallest));
    const views = this.members.map((rows) => this.#inView(rows, across, up));
    const many = views.reduce((sum, rows) => sum + rows.length, 0) > ROUND_BELOW;
    views.forEach((rows, label) => {
      context.fillStyle = colours[label];
      context.globalAlpha = faints[label] ? 0.22 : 0.8;
      if (many) this.#squares(rows, radius);
      else this.#circles(rows, radius);
    });
  }

  #inView(rows, across, up) {
    const { places, x, y, scale, width, height } = this.camera;
    const right = (width / 2 + across + 5) / scale;
    const top = (height / 2 + up + 5) / scale;
    return rows.filter(
      (row) => Math.abs(places[2 * row] - x) < right && Math.abs(places[2 * row + 1] - y) < top,
    );
  }

  #squares(rows, radius) {
    const { context, camera } = this;
    for (const row of rows) {
      const [x, y] = [camera.screenX(row), camera.screenY(row)];
      context.fillRect(x - radius, y - radius, 2 * radius, 2 * radius);
    }
  }

  #circles(rows, radius) {
    const { context, camera } = this;
    context.beginPath();
    for (const row of rows) {
      const [x, y] = [camera.screenX(row), camera.screenY(row)];
      context.moveTo(x + radius, y);
      context.arc(x, y, radius, 0, 2 * Math.PI);
    }
    context.fill();
  }
}
