import type { Step } from "../../shared/contract/fields.ts";

/** A project as it stands in the pictures; `steps` are those that have been made. */
export type Film = { title: string; textPrompt: string; description: string; night?: string; steps: Step[] };

const WHOLE: Step[] = ["first-frame", "last-frame", "video"];

/** Oldest first. The last is the one whose studio is shown. */
export const FILMS: Film[] = [
  {
    title: "Midnight express",
    textPrompt: "A night train crosses a viaduct under a full moon, snow on the hills",
    description: "Opening shot",
    steps: WHOLE,
  },
  {
    title: "First light",
    textPrompt: "Dawn over a lake, morning mist, a heron takes off",
    description: "",
    steps: ["first-frame", "last-frame"],
  },
  {
    title: "High summer",
    textPrompt: "Midday in the mountains, clear sky, meadows down to the valley",
    description: "For the tourist board",
    steps: WHOLE,
  },
  {
    title: "Kite",
    textPrompt: "A field at golden hour, a red kite rises slowly",
    description: "",
    steps: ["first-frame", "last-frame"],
  },
  {
    title: "Station in the storm",
    textPrompt: "A weather station on a ridge, storm clouds, rain comes closer",
    description: "",
    steps: ["first-frame"],
  },
  {
    title: "The keeper",
    textPrompt: "A lighthouse on a cliff at dusk, waves below, slow camera move towards the sea",
    description: "Keep the evening light of the reference image.",
    night: "A lighthouse on a cliff in the deep blue of night, waves below",
    steps: WHOLE,
  },
];
