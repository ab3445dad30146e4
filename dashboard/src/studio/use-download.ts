import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import type { Prediction } from "../../../client/index.ts";
import { useKeyframe } from "../app/services-context.ts";
import { errorSentence } from "../ui/error-sentence.ts";
import { downloadOutput } from "./download-output.ts";

export function useDownload(title: string) {
  const keyframe = useKeyframe();
  return useMutation({
    mutationFn: (run: Prediction) => downloadOutput(keyframe, run, title),
    onError: (error) =>
      notifications.show({ color: "red", title: "The file could not be downloaded", message: errorSentence(error) }),
  });
}
