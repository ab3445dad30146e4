import { hashText } from "./seeded-random.ts";

export type Colour = readonly [red: number, green: number, blue: number];

/** The light of one scene: the sky from zenith to horizon, the sun (or moon), and the land from far to near. */
export type Palette = {
  name: string;
  sky: readonly [zenith: Colour, middle: Colour, horizon: Colour];
  sun: Colour;
  far: Colour;
  near: Colour;
  stars: boolean;
  /** Words in a prompt that ask for this light. */
  words: RegExp;
};

export const palettes: readonly Palette[] = [
  {
    name: "sunset",
    sky: [
      [38, 34, 92],
      [196, 84, 108],
      [255, 190, 120],
    ],
    sun: [255, 236, 190],
    far: [188, 108, 118],
    near: [30, 20, 44],
    stars: false,
    words: /sunset|golden|dusk|evening|warm/i,
  },
  {
    name: "dawn",
    sky: [
      [92, 128, 190],
      [232, 182, 196],
      [255, 228, 196],
    ],
    sun: [255, 250, 224],
    far: [176, 168, 198],
    near: [38, 50, 74],
    stars: false,
    words: /dawn|sunrise|morning|mist|fog/i,
  },
  {
    name: "night",
    sky: [
      [6, 10, 34],
      [20, 38, 88],
      [74, 104, 158],
    ],
    sun: [236, 240, 255],
    far: [46, 70, 122],
    near: [4, 8, 20],
    stars: true,
    words: /night|moon|star|space|midnight/i,
  },
  {
    name: "day",
    sky: [
      [40, 110, 196],
      [124, 184, 232],
      [226, 240, 246],
    ],
    sun: [255, 252, 236],
    far: [132, 172, 196],
    near: [22, 58, 56],
    stars: false,
    words: /\bday\b|blue|summer|sea|ocean|lake|island/i,
  },
  {
    name: "forest",
    sky: [
      [44, 88, 92],
      [128, 176, 148],
      [236, 232, 186],
    ],
    sun: [255, 250, 210],
    far: [116, 156, 132],
    near: [12, 34, 28],
    stars: false,
    words: /forest|wood|tree|jungle|green|spring|garden/i,
  },
  {
    name: "desert",
    sky: [
      [60, 92, 140],
      [224, 168, 120],
      [255, 224, 168],
    ],
    sun: [255, 246, 214],
    far: [214, 150, 104],
    near: [84, 38, 28],
    stars: false,
    words: /desert|sand|dune|canyon|mars|autumn/i,
  },
  {
    name: "winter",
    sky: [
      [70, 92, 134],
      [158, 178, 208],
      [236, 236, 240],
    ],
    sun: [255, 255, 250],
    far: [176, 192, 214],
    near: [34, 48, 72],
    stars: false,
    words: /snow|winter|ice|arctic|frost|cold/i,
  },
  {
    name: "neon",
    sky: [
      [18, 8, 48],
      [116, 32, 132],
      [255, 120, 150],
    ],
    sun: [255, 214, 226],
    far: [120, 56, 150],
    near: [14, 6, 34],
    stars: true,
    words: /neon|cyber|city|synth|future|robot/i,
  },
];

export function mix(from: Colour, to: Colour, share: number): Colour {
  return [
    Math.round(from[0] + (to[0] - from[0]) * share),
    Math.round(from[1] + (to[1] - from[1]) * share),
    Math.round(from[2] + (to[2] - from[2]) * share),
  ];
}

export function css(colour: Colour, alpha = 1): string {
  return `rgba(${colour[0]}, ${colour[1]}, ${colour[2]}, ${alpha})`;
}

/** Turns the three channels against each other a little, so two prompts with the same light still differ in colour. */
function tint(colour: Colour, amount: number): Colour {
  const clamp = (value: number) => Math.max(0, Math.min(255, Math.round(value)));
  return [clamp(colour[0] + amount), clamp(colour[1] - amount * 0.3), clamp(colour[2] - amount * 0.6)];
}

/** The palette a prompt asks for by a word, else one chosen by its hash; slightly tinted by that hash either way. */
export function choosePalette(prompt: string): Palette {
  const hash = hashText(prompt);
  const asked = palettes.find((palette) => palette.words.test(prompt));
  const palette = asked ?? palettes[hash % palettes.length];
  if (!palette) throw new Error("there is no palette to choose from");
  const amount = ((hash >>> 8) % 37) - 18;
  const [zenith, middle, horizon] = palette.sky;
  return {
    ...palette,
    sky: [tint(zenith, amount), tint(middle, amount), tint(horizon, amount * 0.6)],
    far: tint(palette.far, amount),
    near: tint(palette.near, amount * 0.5),
  };
}
