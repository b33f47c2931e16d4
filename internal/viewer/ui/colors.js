// Colour maps: 256 colours, as the bytes of ImageData take them.

// Viridis is by Stéfan van der Walt and Nathaniel Smith, magma too (CC0). These are the
// polynomials that Matt Zucker fitted to them (CC0), constant term first, for red, green
// and blue; those of viridis are in internal/picture, too.
const fitted = {
  viridis: [
    [0.2777273272234177, 0.1050930431085774, -0.3308618287255563, -4.634230498983486, 6.228269936347081, 4.776384997670288, -5.435455855934631],
    [0.005407344544966578, 1.404613529898575, 0.214847559468213, -5.799100973351585, 14.17993336680509, -13.74514537774601, 4.645852612178535],
    [0.3340998053353061, 1.384590162594685, 0.09509516302823659, -19.33244095627987, 56.69055260068105, -65.35303263337234, 26.3124352495832],
  ],
  magma: [
    [-0.002136485053939582, 0.2516605407371642, 8.353717279216625, -27.66873308576866, 52.17613981234068, -50.76852536473588, 18.65570506591883],
    [-0.000749655052795221, 0.6775232436837668, -3.577719514958484, 14.26473078096533, -27.94360607168351, 29.04658282127291, -11.48977351997711],
    [-0.005386127855323933, 2.494026599312351, 0.3144679030132573, -13.64921318813922, 12.94416944238394, 4.23415299384598, -5.601961508734096],
  ],
};
const stops = {
  gray: [[0, 0, 0], [255, 255, 255]],
  "blue-red": [[24, 70, 148], [112, 164, 214], [245, 245, 243], [226, 148, 112], [160, 28, 44]],
};

export const maps = ["viridis", "magma", "gray", "blue-red"];

// rgb is the colour of a map at t, from 0 to 1.
export function rgb(map, t) {
  if (fitted[map]) return fitted[map].map((c) => Math.round(255 * Math.min(Math.max(c.reduceRight((v, x) => v * t + x, 0), 0), 1)));
  const s = stops[map], at = t * (s.length - 1), i = Math.min(Math.floor(at), s.length - 2);
  return s[i].map((c, k) => Math.round(c + (s[i + 1][k] - c) * (at - i)));
}

const tables = new Map();

// table is a map as 256 numbers of a Uint32Array over ImageData.
export function table(map) {
  if (!tables.has(map)) {
    tables.set(map, Uint32Array.from({ length: 256 }, (_, i) => {
      const [r, g, b] = rgb(map, i / 255);
      return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
    }));
  }
  return tables.get(map);
}

// paint colours h rows of w items into pixels: of a tile {items, off, sy, sx}. What is not
// finite stays transparent.
export function paint(pixels, tile, h, w, { lo, hi, map }) {
  const t = table(map), { data, number } = tile.items, scale = 256 / (hi - lo || 1);
  const direct = tile.items.plain;
  for (let y = 0, o = 0; y < h; y++) {
    for (let x = 0, i = tile.off + y * tile.sy; x < w; x++, i += tile.sx, o++) {
      const v = direct ? data[i] : number(i), c = (v - lo) * scale;
      pixels[o] = v - v !== 0 ? 0 : t[c <= 0 ? 0 : c >= 255 ? 255 : c | 0];
    }
  }
}
