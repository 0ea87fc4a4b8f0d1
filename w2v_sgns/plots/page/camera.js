// Which part of the map the canvas shows: the place in its middle, and pixels a unit.

const DEEPEST = 400; // times the whole map

class Camera {
  constructor(places) {
    this.places = places; // x, y, x, y, … within −1 and 1, y upwards
    this.width = this.height = 1;
    this.x = this.y = 0;
    this.scale = this.smallest = 1;
  }

  // Take the canvas's new size and keep what is in the middle; at first show all.
  resize(width, height) {
    const whole = this.width === 1 || this.scale === this.smallest;
    this.width = width;
    this.height = height;
    const [across, up] = this.#extent();
    this.smallest = Math.min((0.86 * width) / across, (0.9 * height) / up);
    if (whole) this.showAll();
    else this.scale = Math.max(this.scale, this.smallest);
  }

  showAll() {
    this.x = this.y = 0;
    this.scale = this.smallest;
  }

  screenX(row) {
    return (this.places[2 * row] - this.x) * this.scale + this.width / 2;
  }

  screenY(row) {
    return (this.y - this.places[2 * row + 1]) * this.scale + this.height / 2;
  }

  pan(dx, dy) {
    this.x = clamp(this.x - dx / this.scale, -1.2, 1.2);
    this.y = clamp(this.y + dy / this.scale, -1.2, 1.2);
  }

  // Zoom so that what lies under (x, y), in pixels, stays there.
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const scale = clamp(this.scale * factor, this.smallest, this.smallest * DEEPEST);
    const change = 1 / this.scale - 1 / scale;
    this.x = clamp(this.x + (x - this.width / 2) * change, -1.2, 1.2);
    this.y = clamp(this.y - (y - this.height / 2) * change, -1.2, 1.2);
    this.scale = scale;
  }

  // Bring these rows into view, with room for their labels; not closer than needed to tell them
  // apart.
  show(rows) {
    const [xs, ys] = [0, 1].map((axis) => rows.map((row) => this.places[2 * row + axis]));
    const [left, right, low, high] = [
      Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys),
    ];
    this.x = (left + right) / 2;
    this.y = (low + high) / 2;
    const across = Math.max(1, this.width - 200) / Math.max(right - left, 1e-9);
    const up = Math.max(1, this.height - 120) / Math.max(high - low, 1e-9);
    this.scale = clamp(Math.min(across, up), this.smallest, this.smallest * 24);
  }

  #extent() {
    const most = [1e-9, 1e-9];
    this.places.forEach((value, i) => (most[i % 2] = Math.max(most[i % 2], Math.abs(value))));
    return [2 * most[0], 2 * most[1]];
  }
}

function clamp(value, least, most) {
  return Math.min(Math.max(value, least), most);
}
