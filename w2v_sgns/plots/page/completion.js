// Completion under an input: words that begin with what is typed, then words that contain it.
// Arrow keys choose, Enter or a click takes, Escape closes.

const MOST_OPTIONS = 8;

class Completion {
  // lexicon: { find(text) → row or −1, suggest(text) → rows }; taken(row) is told of a choice.
  constructor(input, lexicon, taken = () => {}) {
    this.input = input;
    this.lexicon = lexicon;
    this.taken = taken;
    this.rows = [];
    this.current = -1;
    this.list = document.createElement("ul");
    this.list.className = "options";
    this.list.id = `${input.id}-options`;
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", "Words");
    const field = document.createElement("div");
    field.className = "field";
    input.replaceWith(field);
    field.append(input, this.list);
    for (const [name, value] of Object.entries({
      role: "combobox",
      "aria-autocomplete": "list",
      "aria-controls": this.list.id,
    })) {
      input.setAttribute(name, value);
    }
    input.addEventListener("input", () => this.open());
    input.addEventListener("keydown", (event) => this.#key(event));
    input.addEventListener("blur", () => this.close());
    this.close();
  }

  get row() {
    return this.lexicon.find(this.input.value);
  }

  open() {
    this.rows = this.lexicon.suggest(this.input.value);
    this.list.replaceChildren(...this.rows.map((row, place) => this.#option(row, place)));
    this.list.hidden = !this.rows.length;
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
    const { left } = this.input.getBoundingClientRect();
    this.list.classList.toggle("left", left + 220 > document.documentElement.clientWidth);
    this.#choose(-1);
  }

  close() {
    this.rows = [];
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.#choose(-1);
  }

  #option(row, place) {
    const option = document.createElement("li");
    option.id = `${this.list.id}-${place}`;
    option.setAttribute("role", "option");
    option.textContent = this.lexicon.words[row];
    option.dir = "auto";
    option.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // the input keeps the focus
      this.#take(row);
    });
    return option;
  }

  #choose(place) {
    this.current = place;
    [...this.list.children].forEach((option, i) =>
      option.setAttribute("aria-selected", String(i === place)),
    );
    if (place < 0) this.input.removeAttribute("aria-activedescendant");
    else this.input.setAttribute("aria-activedescendant", `${this.list.id}-${place}`);
  }

  #take(row) {
    this.input.value = this.lexicon.words[row];
    this.close();
    this.taken(row);
  }

  #key(event) {
    const { key } = event;
    if ((key === "ArrowDown" || key === "ArrowUp") && (this.rows.length || this.input.value)) {
      event.preventDefault();
      if (!this.rows.length) this.open();
      const count = this.rows.length + 1; // one of the places is the input itself
      const step = key === "ArrowDown" ? 1 : -1;
      this.#choose(((this.current + 1 + step + count) % count) - 1);
    } else if (key === "Enter" && this.current >= 0) {
      event.preventDefault();
      this.#take(this.rows[this.current]);
    } else if (key === "Escape" && this.rows.length) {
      event.preventDefault();
      event.stopPropagation();
      this.close();
    }
  }
}

// The words and how to find them by what is typed, whatever its case.
class Lexicon {
  constructor(words) {
    this.words = words;
    this.folded = words.map((word) => word.toLowerCase());
    this.exact = new Map();
    this.loose = new Map();
    for (let row = words.length - 1; row >= 0; row--) {
      this.exact.set(words[row], row);
      this.loose.set(this.folded[row], row);
    }
  }

  find(text) {
    const trimmed = text.trim();
    if (!trimmed) return -1;
    return this.exact.get(trimmed) ?? this.loose.get(trimmed.toLowerCase()) ?? -1;
  }

  suggest(text) {
    const typed = text.trim().toLowerCase();
    if (!typed) return [];
    const [begins, contains] = [[], []];
    for (let row = 0; row < this.folded.length && begins.length < MOST_OPTIONS; row++) {
      const place = this.folded[row].indexOf(typed);
      if (place === 0) begins.push(row);
      else if (place > 0 && contains.length < MOST_OPTIONS) contains.push(row);
    }
    return [...begins, ...contains].slice(0, MOST_OPTIONS);
  }
}
