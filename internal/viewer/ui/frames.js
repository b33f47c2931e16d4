// A set of images: a grid of ids that loads as it comes into sight, and a player.

import { count, el, field, later, plural } from "./dom.js";
import { Grid } from "./framesgrid.js";
import { Ids } from "./framesids.js";
import { Player } from "./framesplayer.js";
import { sheet } from "./sheet.js";

export async function mount(box, ctx) {
  await sheet();
  const f = new Frames(box, ctx);
  await f.begin();
  return f;
}

class Frames {
  constructor(box, ctx) {
    Object.assign(this, { box, ctx, dead: false, player: null });
    this.ids = new Ids(ctx);
    this.find = el("input", { type: "search", name: "filter", placeholder: "name or label", value: ctx.state.find ?? "", autocomplete: "off", spellcheck: false, oninput: () => this.filter() });
    this.found = el("span", { class: "note", role: "status" });
    this.place = el("div", { class: "stage" });
    this.grid = new Grid(ctx, this.ids, (entry, from) => this.play(entry, from));
    this.filter = later(180, () => { this.ctx.setState({ find: this.find.value.trim() || null }); this.select(); });
  }

  async begin() {
    const { info, ctx } = { info: this.ctx.info, ctx: this.ctx };
    this.box.append(this.place, el("div", { class: "bar" }, field("Filter", this.find), this.found), this.grid.box);
    ctx.keys([["/", "filter", () => this.find.focus()], ...this.playerKeys()]);
    ctx.elsewhere(() => this.shown());
    if (!info.entries) { this.found.textContent = "No ids."; return; }
    await this.ids.page(0);
    this.select();
    if (ctx.state.id !== undefined) {
      const e = await this.ids.named(ctx.state.id);
      if (this.dead) return;
      if (e) this.play(e, Number(ctx.state.frame ?? 0) || 0, false);
      else this.found.textContent = `There is no id ${ctx.state.id}.`;
    }
  }

  // select shows the ids that match, as they are found.
  async select() {
    const text = this.find.value.trim();
    if (!text) { this.grid.all(); this.say(""); return; }
    const mine = this.searching = Symbol();
    try {
      for await (const { list, seen, all } of this.ids.search(text)) {
        if (this.dead || this.searching !== mine) return;
        this.grid.some(list);
        this.say(all ? `${plural(list.length, "id")} of ${count(this.ids.length)}` : `${plural(list.length, "id")} in the first ${count(seen)} of ${count(this.ids.length)} …`);
      }
    } catch (e) { if (!this.dead) this.ctx.fail(e); }
  }

  say(text) {
    const { entries, images } = this.ctx.info;
    this.found.textContent = text || `${plural(entries, "id")}, ${plural(images, "frame")}${this.grid.cut ? `; the first ${count(this.grid.cut)} are in the grid` : ""}`;
  }

  play(entry, from = 0, mine = true) {
    this.player?.destroy();
    this.player = new Player(this.ctx, entry, from, {
      changed: (frame) => this.ctx.setState({ id: entry.name, frame }),
      close: () => this.close(),
      other: async (by) => { const e = await this.ids.at(entry.n + by); if (e && !this.dead) this.play(e, 0); },
    });
    this.place.replaceChildren(this.player.box);
    this.ctx.setState({ id: entry.name, frame: this.player.frame }, { replace: !mine });
    this.grid.mark(entry);
    if (mine) { this.player.box.scrollIntoView({ block: "nearest" }); this.player.focus(); }
  }

  close() {
    if (!this.player) return;
    const { entry } = this.player;
    this.player.destroy();
    this.player = null;
    this.place.replaceChildren();
    this.ctx.setState({ id: null, frame: null, rate: null, step: null });
    this.grid.mark(null);
    this.grid.focus(entry);
  }

  playerKeys() {
    const p = (fn) => () => (this.player ? void fn(this.player) : false);
    return [[" ", "play, stop", p((x) => x.toggle())], ["ArrowRight", "next frame", p((x) => x.step(1))], ["ArrowLeft", "frame before", p((x) => x.step(-1))],
      ["Home", "first frame", p((x) => x.seek(0))], ["End", "last frame", p((x) => x.seek(x.frames - 1))], ["n", "next id", p((x) => x.on.other(1))], ["p", "id before", p((x) => x.on.other(-1))],
      ["+", "faster", p((x) => x.faster(1))], ["-", "slower", p((x) => x.faster(-1))], ["Escape", "close the player", p(() => this.close())]];
  }

  shown() {
    if (this.player) return { kind: "frame", id: this.player.entry.name, frame: this.player.frame, object: this.player.entry.object };
    return { kind: "frame", id: this.ids.first?.name ?? "", frame: 0, object: this.ids.first?.object };
  }

  destroy() {
    this.dead = true;
    this.filter.stop();
    this.player?.destroy();
    this.grid.destroy();
    this.ids.stop();
  }
}
