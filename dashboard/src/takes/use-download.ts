import { useMutation } from "@tanstack/react-query";
import { safeFileName } from "../../../client/film.ts";
import type { KeyframeClient, Prediction } from "../../../client/index.ts";
import { STEP_NAME } from "./status-words.ts";
import { CHANGES_NOTHING } from "../queries/query-client.ts";
import { useKeyframe } from "../services.ts";
import { notifyError } from "../ui/notices.tsx";

/** Downloads the file of a take; while it does, another press does nothing. */
export function useDownload(title: string): (take: Prediction) => void {
  const keyframe = useKeyframe();
  const { isPending, mutate } = useMutation({
    meta: CHANGES_NOTHING,
    mutationFn: (prediction: Prediction) => downloadOutput(keyframe, prediction, title),
    onError: (error) => notifyError("Could not download the file", error),
  });
  return (take) => !isPending && mutate(take);
}

/** Downloads a file under the project's title, from a freshly signed URL. */
async function downloadOutput(keyframe: KeyframeClient, prediction: Prediction, title: string): Promise<void> {
  const { output } = await keyframe.readPrediction(prediction);
  if (output === null) throw new Error("The file has been removed from Storage.");
  const extension = output.path.split(".").at(-1);
  const name = `${safeFileName(title)} - ${STEP_NAME[prediction.step].toLowerCase()}.${extension}`;
  const address = new URL(output.url);
  // Storage sets the file name: browsers ignore a link's name across origins.
  address.searchParams.set("download", name);
  saveAs(address.href, name);
}

export function saveAs(href: string, name: string): void {
  Object.assign(document.createElement("a"), { href, download: name }).click();
}
