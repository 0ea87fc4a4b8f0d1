// The vectors and what lies near what. Rows are int8; a row's scale, 1 / its length, makes it a
// unit vector, so a product of two scaled rows is their cosine.

class Space {
  constructor(data) {
    this.words = data.words;
    this.size = data.words.length;
    this.dim = data.dim;
    this.rows = new Int8Array(bytes(data.vectors));
    this.scales = new Float32Array(this.size);
    for (let row = 0, at = 0; row < this.size; row++) {
      let squares = 0;
      for (let i = 0; i < this.dim; i++, at++) squares += this.rows[at] * this.rows[at];
      this.scales[row] = squares ? 1 / Math.sqrt(squares) : 0;
    }
  }

  // The unit vector of a row, times `sign`, added to `sum`.
  add(sum, row, sign = 1) {
    const factor = sign * this.scales[row];
    for (let i = 0; i < this.dim; i++) sum[i] += factor * this.rows[row * this.dim + i];
    return sum;
  }

  // The `count` rows of largest cosine to the direction, best first, without the excluded ones.
  nearest(direction, count, excluded) {
    const length = Math.hypot(...direction);
    if (!length) return [];
    const { rows, dim, scales } = this;
    const best = [];
    let floor = -Infinity;
    for (let row = 0, at = 0; row < this.size; row++) {
      let sum = 0;
      for (let i = 0; i < dim; i++, at++) sum += direction[i] * rows[at];
      const cosine = (sum * scales[row]) / length;
      if (cosine <= floor || excluded.includes(row)) continue;
      let place = best.length;
      while (place > 0 && best[place - 1].cosine < cosine) place--;
      best.splice(place, 0, { row, cosine });
      if (best.length > count) best.pop();
      if (best.length === count) floor = best[count - 1].cosine;
    }
    return best;
  }

  neighbours(row, count) {
    return this.nearest(this.add(new Float64Array(this.dim), row), count, [row]);
  }

  // The words that are to c as b is to a: nearest to b − a + c.
  analogy(a, b, c, count) {
    const direction = this.add(new Float64Array(this.dim), b);
    this.add(direction, a, -1);
    this.add(direction, c);
    return this.nearest(direction, count, [a, b, c]);
  }
}

// The buffer that base64 text stands for.
function bytes(text) {
  const letters = atob(text);
  const values = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) values[i] = letters.charCodeAt(i);
  return values.buffer;
}
