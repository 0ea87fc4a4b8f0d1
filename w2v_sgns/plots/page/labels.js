// Which labels can stand together. At every step of zooming the most frequent words are placed
// first and a word whose label would touch another stays a dot. A step is for all of the map, not
// for what is in view, so labels do not flicker while the map is moved.

const STEPS = 4; // of zooming, for a doubling
const CELL = { width: 64, height: 24 }; // pixels: where to look for labels nearby
const GAP = { x: 14, y: 9 }; // pixels left free between labels
const LABEL_HEIGHT = 15;
const DOT = 7; // from a word's place to its label

class Labels {
  constructor(camera, texts, measure) {
    this.camera = camera;
    this.texts = texts;
    this.measure = measure;
    this.widths = new Float32Array(texts.length);
    this.steps = new Map();
  }

  width(row) {
    return (this.widths[row] ||= Math.max(1, this.measure(this.texts[row])));
  }

  // The rows whose labels are shown at the present zoom, most frequent first.
  shown() {
    const { scale, smallest } = this.camera;
    const step = Math.floor(STEPS * Math.log2(scale / smallest) + 1e-9);
    const key = `${step} ${smallest}`;
    if (!this.steps.has(key)) {
      if (this.steps.size > 60) this.steps.clear();
      this.steps.set(key, this.#place(smallest * 2 ** (step / STEPS)));
    }
    return this.steps.get(key);
  }

  #place(scale) {
    const taken = new Taken();
    const { places } = this.camera;
    const rows = [];
    for (let row = 0; row < this.texts.length; row++) {
      const left = places[2 * row] * scale;
      const top = -places[2 * row + 1] * scale;
      const box = [left, top, left + GAP.x, top + LABEL_HEIGHT + GAP.y];
      if (!taken.free(box)) continue; // the text need not be measured: that takes longest
      box[2] += this.width(row);
      if (taken.free(box)) {
        taken.add(box);
        rows.push(row);
      }
    }
    return rows;
  }
}

// Boxes (left, top, right, bottom) that do not overlap, found again by the cells they touch.
class Taken {
  cells = new Map();

  free(box) {
    return this.#keys(box).every(
      (key) => !this.cells.get(key)?.some((other) => overlap(box, other)),
    );
  }

  add(box) {
    for (const key of this.#keys(box)) {
      if (this.cells.has(key)) this.cells.get(key).push(box);
      else this.cells.set(key, [box]);
    }
  }

  #keys([left, top, right, bottom]) {
    const keys = [];
    for (let y = Math.floor(top / CELL.height); y <= Math.floor(bottom / CELL.height); y++) {
      for (let x = Math.floor(left / CELL.width); x <= Math.floor(right / CELL.width); x++) {
        keys.push(y * 1e6 + x);
      }
    }
    return keys;
  }
}

function overlap(a, b) {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}
