import type { Prediction } from "../../../client/index.ts";

export type FrameStep = "first-frame" | "last-frame";

/** Earlier frames that the next video is to be made of, in place of the latest ones. */
export type ChosenFrames = Partial<Record<FrameStep, Prediction>>;
