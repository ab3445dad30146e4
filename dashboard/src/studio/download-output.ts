import type { KeyframeClient, Prediction } from "../../../client/index.ts";
import { STEP_NAME } from "../projects/step-words.ts";

const LONGEST_TITLE = 80;

/** Saves the file of a run under the title of its project, from an address that is signed for it now. */
export async function downloadOutput(keyframe: KeyframeClient, run: Prediction, title: string): Promise<void> {
  const { output } = await keyframe.readPrediction(run);
  if (output === null) throw new Error("The file has been removed from Storage.");
  const name = fileName(title, run, output.path);
  const address = new URL(output.url);
  // Asks Storage to send it as a file: from another origin the browser does not take the name of the link.
  address.searchParams.set("download", name);
  const link = document.createElement("a");
  link.href = address.href;
  link.download = name;
  link.click();
}

/** As "Harbour - first frame.png", without what a file system may refuse. */
function fileName(title: string, { step }: Prediction, path: string): string {
  const safe = title
    .replace(/[\p{Cc}\\/:*?"<>|]+/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
  const short = [...safe]
    .slice(0, LONGEST_TITLE)
    .join("")
    .replace(/^\.+|[. ]+$/g, "");
  const extension = path.split(".").at(-1) ?? "";
  return `${short === "" ? "Keyframe" : short} - ${STEP_NAME[step].toLowerCase()}.${extension}`;
}
