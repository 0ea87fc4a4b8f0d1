// The page: what a pointer, a key or a form does to the map and to the lists beside it.

const NEIGHBOURS = 10;
const LABEL_LETTERS = 28;
const NAMES = { pca: "principal components (PCA)", tsne: "t-SNE" };

const element = (id) => document.getElementById(id);
const number = (value) => value.toLocaleString("en");

class WordMap {
  constructor(data) {
    this.data = data;
    this.space = new Space(data);
    this.lexicon = new Lexicon(data.words);
    this.classes = new Uint8Array(bytes(data.classes));
    this.canvas = element("canvas");
    this.camera = new Camera(new Float32Array(bytes(data.places)));
    this.painter = new Painter(this.canvas, this.camera, this.classes);
    const texts = data.words.map((word) => shorten(word, LABEL_LETTERS));
    this.labels = new Labels(this.camera, texts, (text) => this.painter.measure(text));
    this.scene = { focus: [], links: [], hovered: -1, label: -1, aim: false };
    this.#describe();
    this.#listClasses();
    this.#listen();
    new Pointers(this);
    this.painter.resize();
    this.draw();
    this.#openAddress();
  }

  draw() {
    this.painter.draw(this.labels, this.scene);
  }

  // Draw once before the next frame, however often this is called.
  redraw() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = undefined;
      this.draw();
    });
  }

  pan(dx, dy) {
    this.camera.pan(dx, dy);
    this.redraw();
  }

  zoom(factor, x, y) {
    this.camera.zoom(factor, x, y);
    this.redraw();
  }

  showAll() {
    this.camera.showAll();
    this.redraw();
  }

  // Show a word, its nearest words and their links; `move` brings them into view.
  select(row, { move = true } = {}) {
    const { words, counts, classWords } = this.data;
    const hits = this.space.neighbours(row, NEIGHBOURS);
    const seen = counts ? `seen ${number(counts[row])} times; ` : "";
    this.#answer({
      title: ["Nearest to ", isolated(words[row])],
      note: `${seen}class: ${classWords[this.classes[row]].join(", ")}`,
      focus: [row, ...hits.map((hit) => hit.row)],
      links: hits.map((hit) => [row, hit.row, hit.cosine]),
      hits,
      move,
    });
    history.replaceState(null, "", `#${encodeURIComponent(words[row])}`);
  }

  askAnalogy(a, b, c) {
    const { words } = this.data;
    const hits = this.space.analogy(a, b, c, NEIGHBOURS);
    const first = hits.slice(0, 1).map((hit) => hit.row);
    this.#answer({
      title: [isolated(words[a]), " is to ", isolated(words[b]), " as ", isolated(words[c]), " is to …"],
      note: "the words nearest to B − A + C, of unit vectors",
      focus: [...first, a, b, c],
      links: [[a, b, 0.5], ...first.map((row) => [c, row, 0.5])],
      hits,
      move: true,
    });
  }

  clear() {
    Object.assign(this.scene, { focus: [], links: [], label: -1 });
    element("answer").hidden = true;
    element("word").value = "";
    this.say("");
    this.#pressClass();
    history.replaceState(null, "", location.pathname + location.search);
    this.redraw();
  }

  // Tell something; `heard`: to a screen reader only, the eye sees it elsewhere.
  say(text, { heard = false } = {}) {
    element("status").classList.toggle("heard", heard);
    element("status").textContent = text;
  }

  // The row under a place of the canvas, by its label or its dot; −1 where there is none.
  under(x, y) {
    const { camera, labels } = this;
    for (const row of labels.shown()) {
      const left = camera.screenX(row);
      const inside = x > left && x < left + DOT + labels.width(row);
      if (inside && Math.abs(y - camera.screenY(row)) < 9) return row;
    }
    return this.closest(x, y, 14);
  }

  closest(x, y, most = Infinity) {
    let [found, least] = [-1, most * most];
    for (let row = 0; row < this.space.size; row++) {
      const distance = (this.camera.screenX(row) - x) ** 2 + (this.camera.screenY(row) - y) ** 2;
      if (distance < least) [found, least] = [row, distance];
    }
    return found;
  }

  hover(row) {
    if (row === this.scene.hovered) return;
    this.scene.hovered = row;
    this.canvas.classList.toggle("over", row >= 0);
    this.redraw();
  }

  #answer({ title, note, focus, links, hits, move }) {
    Object.assign(this.scene, { focus, links, hovered: -1, label: -1 });
    this.#pressClass();
    if (move && focus.length) this.camera.show(focus);
    element("answer-title").replaceChildren(...title);
    element("answer-note").textContent = note;
    element("answer-list").replaceChildren(...hits.map((hit) => this.#hit(hit)));
    element("answer").hidden = false;
    const words = hits.slice(0, 3).map((hit) => this.data.words[hit.row]);
    if (hits.length) this.say(`The first of ${hits.length}: ${words.join(", ")}`, { heard: true });
    else this.say("There is no other word on this map.");
    this.redraw();
  }

  #hit({ row, cosine }) {
    const item = document.createElement("li");
    const button = this.#button(this.data.words[row], () => this.select(row));
    const value = document.createElement("span");
    value.className = "cosine";
    value.textContent = cosine.toFixed(3);
    button.prepend(this.#swatch(this.classes[row]));
    button.append(value);
    button.addEventListener("pointerenter", () => this.hover(row));
    button.addEventListener("pointerleave", () => this.hover(-1));
    item.append(button);
    return item;
  }

  #button(text, action) {
    const button = document.createElement("button");
    button.type = "button";
    const word = isolated(text);
    word.className = "word";
    button.append(word);
    button.addEventListener("click", action);
    return button;
  }

  #swatch(label) {
    const swatch = document.createElement("span");
    swatch.className = "swatch";
    swatch.style.background = `var(--c${label})`;
    return swatch;
  }

  #listClasses() {
    const items = this.data.classWords.map((words, label) => {
      const item = document.createElement("li");
      const button = this.#button(words.join(", "), () => this.#toggleClass(label));
      button.prepend(this.#swatch(label));
      button.setAttribute("aria-pressed", "false");
      item.append(button);
      return item;
    });
    element("class-list").replaceChildren(...items);
  }

  #toggleClass(label) {
    this.scene.label = this.scene.label === label ? -1 : label;
    Object.assign(this.scene, { focus: [], links: [] });
    element("answer").hidden = true;
    this.say(this.scene.label < 0 ? "" : "The map shows this class; press again for all.");
    this.#pressClass();
    this.redraw();
  }

  #pressClass() {
    [...element("class-list").querySelectorAll("button")].forEach((button, label) =>
      button.setAttribute("aria-pressed", String(label === this.scene.label)),
    );
  }

  #describe() {
    const { name, words, dim, method, variance, overlap, leftOut } = this.data;
    const kept = variance === null ? "" : `, which keep ${percent(variance)} of the variance`;
    const without = leftOut ? ` ${number(leftOut)} without a direction are left out.` : "";
    element("about").textContent =
      `${number(words.length)} words of ${number(dim)} dimensions${name ? ` from ${name}` : ""}, ` +
      `placed by ${NAMES[method]}${kept}: words that lie together here need not be alike, ` +
      `so trust the lists. Cosines are worked out in this page, from vectors stored as whole ` +
      `numbers: of the ten nearest words by exact vectors they find ${percent(overlap)}. ` +
      `Nothing is asked of any server.${without}`;
    if (name) document.title = `Map of words: ${name}`;
  }

  #listen() {
    const search = new Completion(element("word"), this.lexicon, (row) => this.select(row));
    element("search").addEventListener("submit", (event) => {
      event.preventDefault();
      search.close();
      if (search.row >= 0) this.select(search.row);
      else this.#sayUnknown([search.input.value]);
    });
    const parts = ["a", "b", "c"].map((id) => new Completion(element(id), this.lexicon));
    element("analogy").addEventListener("submit", (event) => {
      event.preventDefault();
      parts.forEach((part) => part.close());
      const missing = parts.filter((part) => part.row < 0);
      if (missing.length) this.#sayUnknown(missing.map((part) => part.input.value));
      else this.askAnalogy(...parts.map((part) => part.row));
    });
    element("clear").addEventListener("click", () => {
      this.clear();
      element("word").focus();
    });
    element("zoom-in").addEventListener("click", () => this.zoom(1.5));
    element("zoom-out").addEventListener("click", () => this.zoom(1 / 1.5));
    element("zoom-all").addEventListener("click", () => this.showAll());
    new ResizeObserver(() => {
      this.painter.resize();
      this.draw();
    }).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.painter.takeColours();
      this.redraw();
    });
  }

  #sayUnknown(texts) {
    const named = texts.filter((text) => text.trim()).map((text) => `“${shorten(text.trim(), 60)}”`);
    const total = number(this.space.size);
    if (named.length < texts.length) this.say("Type a word first.");
    else this.say(`Not among the ${total} words of this map: ${named.join(", ")}`);
  }

  // map.html#word opens with that word shown.
  #openAddress() {
    let word = location.hash.slice(1);
    try {
      word = decodeURIComponent(word);
    } catch {
      // a stray % stands for itself
    }
    const row = word ? this.lexicon.find(word) : -1;
    if (row >= 0) this.select(row);
    else if (word) this.#sayUnknown([word]);
  }
}

// Mouse, touch, wheel and keys on the canvas.
class Pointers {
  constructor(map) {
    this.map = map;
    this.canvas = map.canvas;
    this.down = new Map(); // pointer: its place
    this.moved = 0;
    const listen = (name, act, options) =>
      this.canvas.addEventListener(name, (event) => act.call(this, event), options);
    listen("pointerdown", this.#press);
    listen("pointermove", this.#move);
    listen("pointerup", this.#release);
    listen("pointercancel", this.#cancel);
    listen("pointerleave", () => map.hover(-1));
    listen("wheel", this.#wheel, { passive: false });
    listen("dblclick", (event) => map.zoom(2, event.offsetX, event.offsetY));
    listen("keydown", this.#key);
    listen("focus", () => this.#aim(this.canvas.matches(":focus-visible")));
    listen("blur", () => this.#aim(false));
  }

  #press(event) {
    this.canvas.setPointerCapture(event.pointerId);
    if (!this.down.size) this.moved = 0;
    this.down.set(event.pointerId, [event.offsetX, event.offsetY]);
    if (this.down.size > 1) this.moved = Infinity; // two fingers never click
  }

  #move(event) {
    const place = [event.offsetX, event.offsetY];
    const former = this.down.get(event.pointerId);
    if (!former) {
      this.map.hover(this.map.under(...place));
      return;
    }
    const before = this.#fingers();
    this.down.set(event.pointerId, place);
    const after = this.#fingers();
    this.moved += Math.hypot(place[0] - former[0], place[1] - former[1]);
    if (this.moved < 5) return;
    this.canvas.classList.add("moving");
    this.map.pan(after.x - before.x, after.y - before.y);
    if (before.spread && after.spread) {
      this.map.zoom(after.spread / before.spread, after.x, after.y);
    }
  }

  #release(event) {
    this.#cancel(event);
    if (this.moved >= 5 || this.down.size) return;
    const row = this.map.under(event.offsetX, event.offsetY);
    if (row >= 0) this.map.select(row, { move: false });
  }

  #cancel(event) {
    this.down.delete(event.pointerId);
    this.canvas.classList.remove("moving");
  }

  // The middle of all fingers, and how far the first two are apart.
  #fingers() {
    const places = [...this.down.values()];
    const mean = (i) => places.reduce((sum, place) => sum + place[i], 0) / places.length;
    const [one, two] = places;
    return { x: mean(0), y: mean(1), spread: two ? Math.hypot(one[0] - two[0], one[1] - two[1]) : 0 };
  }

  #wheel(event) {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1;
    this.map.zoom(Math.exp(-event.deltaY * lines * 0.0015), event.offsetX, event.offsetY);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { map } = this;
    const { width, height } = map.camera;
    const actions = {
      ArrowLeft: () => map.pan(60, 0),
      ArrowRight: () => map.pan(-60, 0),
      ArrowUp: () => map.pan(0, 60),
      ArrowDown: () => map.pan(0, -60),
      "+": () => map.zoom(1.5),
      "=": () => map.zoom(1.5),
      "-": () => map.zoom(1 / 1.5),
      0: () => map.showAll(),
      Enter: () => map.select(map.closest(width / 2, height / 2), { move: false }),
      Escape: () => map.clear(),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    this.#aim(true);
    actions[event.key]();
  }

  #aim(shown) {
    this.map.scene.aim = shown;
    this.map.redraw();
  }
}

function isolated(text) {
  const span = document.createElement("bdi");
  span.textContent = text;
  return span;
}

// At most so many letters, never half of one, … at the cut.
function shorten(text, most) {
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
}

function percent(share) {
  const value = 100 * share;
  return `${value >= 10 ? Math.round(10 * value) / 10 : value.toPrecision(2)} %`;
}

// For the console: wordMap.select(0), wordMap.draw().
globalThis.wordMap = new WordMap(JSON.parse(element("data").textContent));
