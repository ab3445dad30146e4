import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import type { KeyframeClient, Prediction } from "../../../client/index.ts";
import { STEP_NAME } from "../projects/status-words.ts";
import { useKeyframe } from "../services.ts";
import { errorSentence } from "../ui/errors.ts";

export function useDownload(title: string) {
  const keyframe = useKeyframe();
  return useMutation({
    mutationFn: (prediction: Prediction) => downloadOutput(keyframe, prediction, title),
    onError: (error) =>
      notifications.show({ color: "red", title: "Could not download the file", message: errorSentence(error) }),
  });
}

const LONGEST_TITLE = 80;

/** Downloads a file under the project's title, from a freshly signed URL. */
async function downloadOutput(keyframe: KeyframeClient, prediction: Prediction, title: string): Promise<void> {
  const { output } = await keyframe.readPrediction(prediction);
  if (output === null) throw new Error("The file has been removed from Storage.");
  const name = fileName(title, prediction, output.path);
  const address = new URL(output.url);
  // Storage sets the file name: browsers ignore a link's name across origins.
  address.searchParams.set("download", name);
  const link = document.createElement("a");
  link.href = address.href;
  link.download = name;
  link.click();
}

/** Such as "Harbour - first frame.png", without characters that file systems refuse. */
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
