// The ids of a set of images, listed by pages as they are wanted.

const page = 500;

export class Ids {
  constructor(ctx) {
    Object.assign(this, { ctx, length: ctx.info.entries, pages: new Map(), waiting: new Map(), lane: ctx.api.lane("ids") });
    this.listeners = new Set();
  }

  stop() { this.stopped = true; this.lane.clear(); }

  get first() { return this.pages.get(0)?.[0]; }

  // known is entry n if it is listed.
  known(n) { return this.pages.get(Math.floor(n / page))?.[n % page]; }

  // page lists page i: the cursor of an id is its number.
  page(i) {
    const have = this.pages.get(i);
    if (have) return Promise.resolve(have);
    if (!this.waiting.has(i)) {
      const { root, key, api } = this.ctx;
      const name = key === "" ? key : key.replace(/\/+$/, ""); // with the slash it would be the folder's listing
      this.waiting.set(i, this.lane.get(api.url("ls", root, name, { after: i ? i * page - 1 : "", limit: page }), { as: "json", fresh: true }).then((l) => {
        this.pages.set(i, l.entries);
        for (const fn of this.listeners) fn();
        return l.entries;
      }).finally(() => this.waiting.delete(i)));
    }
    return this.waiting.get(i);
  }

  // at is entry n, or null beyond the ends.
  async at(n) { return n >= 0 && n < this.length ? (await this.page(Math.floor(n / page)))[n % page] ?? null : null; }

  // each walks all pages, two at a time.
  async * each() {
    for (let i = 0; i * page < this.length; i++) {
      if ((i + 1) * page < this.length) this.page(i + 1).catch(() => {});
      yield await this.page(i);
    }
  }

  async named(id) {
    for await (const list of this.each()) { const e = list.find((x) => x.name === id); if (e || this.stopped) return e ?? null; }
    return null;
  }

  // search finds ids by words that their names or meta_data have, all of them.
  async * search(text) {
    const words = text.toLowerCase().split(/\s+/), list = [];
    let seen = 0;
    for await (const some of this.each()) {
      for (const e of some) { const all = `${e.name} ${labels(e).map(([k, v]) => `${k}=${v}`).join(" ")}`.toLowerCase(); if (words.every((w) => all.includes(w))) list.push(e); }
      seen += some.length;
      yield { list, seen, all: seen >= this.length };
    }
  }
}

// labels are the names and values of an id's meta_data.
export function labels(e) {
  return [e.meta_data ?? []].flat().flatMap((m) => Object.entries(m ?? {})).map(([k, v]) => [k, typeof v === "string" ? v : JSON.stringify(v)]);
}

// address is that of a frame.
export const address = ({ root, key, api }, e, frame) => api.url("get", root, key, { id: e.name, frame });
