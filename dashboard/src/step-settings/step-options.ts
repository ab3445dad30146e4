import type { ShotPlan } from "../../../client/index.ts";
import type { StepOptions } from "../queries/plan-edits.ts";
import { type FrameRole, isUpload } from "../takes/input-words.ts";

/** Where the next shot's video starts. Null: at its own first frame. */
export type Beginning = Pick<StepOptions, "continuesPreviousShot" | "firstFramePredictionId"> | null;

const OF_ONE_SHOT = /^prompt$|Frame(PredictionId|ImagePath)$|^continuesPreviousShot$/;

/** The settings that the next shot copies: neither the prompts nor the frames. */
export function planOfNextShot(plan: ShotPlan, beginning: Beginning): ShotPlan {
  const kept = Object.entries(plan).map(([step, planned]) => {
    const isKept = ([name, value]: [string, unknown]) => value === null || !OF_ONE_SHOT.test(name); // null means no frame
    return [step, Object.fromEntries(Object.entries(planned ?? {}).filter(isKept))];
  });
  const next: ShotPlan = Object.fromEntries(kept);
  return beginning === null
    ? next
    : { ...next, video: { ...next.video, firstFramePredictionId: undefined, ...beginning } };
}

/** The fields that choose a frame: a path, an id, null for none, undefined for the project's. */
export function fieldsOf(role: FrameRole, frame: string | null | undefined): Partial<StepOptions> {
  const path = frame && isUpload(frame) ? frame : undefined;
  return {
    [`${role}PredictionId`]: path === undefined ? frame : undefined,
    [`${role}ImagePath`]: path,
    // A video that starts at a frame of its own does not continue the previous shot.
    ...(role === "firstFrame" && { continuesPreviousShot: undefined }),
  };
}

/** Removes the elements of a repeated take: the next take gets the current elements of its project or film. */
export function withoutElements({ prompt, referenceImagePaths, elements }: StepOptions): StepOptions {
  const used = elements ?? [];
  const texts = used.flatMap(({ name, text }) => (text === "" ? [] : `\n${name}: ${text}`)).join("");
  const images = used.flatMap(({ imagePaths }) => imagePaths);
  return {
    elements: undefined,
    prompt: texts !== "" && prompt?.endsWith(`\n${texts}`) ? prompt.slice(0, -texts.length - 1) : prompt,
    referenceImagePaths: referenceImagePaths?.filter((path) => !images.includes(path)),
  };
}
