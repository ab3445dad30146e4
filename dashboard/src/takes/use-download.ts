import { useMutation } from "@tanstack/react-query";
import { safeFileName } from "../../../client/film.ts";
import type { Prediction } from "../../../client/index.ts";
import { CHANGES_NOTHING } from "../queries/query-client.ts";
import { readFile } from "../queries/reference-image.ts";
import { type PageClient, useKeyframe } from "../services.ts";
import { notifyError } from "../ui/Notices.tsx";
import { STEP_NAME } from "./status-words.ts";

/** Downloads the file of a take. During a download, another press does nothing. */
export function useDownload(title: string): (take: Prediction) => void {
  const keyframe = useKeyframe();
  const { isPending, mutate } = useMutation({
    meta: CHANGES_NOTHING,
    mutationFn: (take: Prediction) => downloadFile(keyframe, take, title),
    onError: (error) => notifyError("Could not download the file", error),
  });
  return (take) => !isPending && mutate(take);
}

async function downloadFile(keyframe: PageClient, take: Prediction, title: string): Promise<void> {
  const { path, url } = await readFile(keyframe, take);
  const extension = path.split(".").at(-1);
  const name = `${safeFileName(title)} - ${STEP_NAME[take.step].toLowerCase()}.${extension}`;
  const address = new URL(url);
  // Storage sets the file name: browsers ignore a link's name across origins.
  address.searchParams.set("download", name);
  saveAs(address.href, name);
}

export function saveAs(href: string, name: string): void {
  Object.assign(document.createElement("a"), { href, download: name }).click();
}
