import type { ListedProject, Output, Prediction } from "../../../client/index.ts";

/** A new address is taken up when the old one has this long to live, so that nothing on the page runs out. */
const LEAST_LEFT_MS = 10 * 60_000;

const kept = new Map<string, Output>();

/**
 * Each read signs files anew. What is unchanged keeps the address it was loaded from, until that runs out: the browser
 * would load it again otherwise, and a video would start over.
 */
function steadyOutput(output: Output): Output {
  const before = kept.get(output.path);
  const isGood = before?.sha256 === output.sha256 && Date.parse(before.expiresAt) - Date.now() > LEAST_LEFT_MS;
  if (isGood) return before;
  kept.set(output.path, output);
  return output;
}

/** For an address that did not load: the next one that is read is taken. */
export const forgetOutput = ({ path }: Output): void => void kept.delete(path);

export const steadyRun = (run: Prediction): Prediction =>
  run.output === null ? run : { ...run, output: steadyOutput(run.output) };

const steadyOrNone = (run: Prediction | null): Prediction | null => (run === null ? null : steadyRun(run));

/** A project whose runs have been made steady. */
export function steadyProject<Given extends Pick<ListedProject, "predictions">>(project: Given): Given {
  const { predictions } = project;
  if (predictions === undefined) return project;
  const steady = {
    "first-frame": steadyOrNone(predictions["first-frame"]),
    "last-frame": steadyOrNone(predictions["last-frame"]),
    video: steadyOrNone(predictions.video),
  };
  return { ...project, predictions: steady };
}
