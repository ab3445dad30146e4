import { useMutation } from "@tanstack/react-query";
import type { KeyframeClient, Prediction } from "../../../client/index.ts";
import { useDeleteLater } from "../queries/delete-later.ts";
import { STEP_NAME } from "./status-words.ts";
import { useKeyframe } from "../services.ts";
import { IconDownload, IconEye, IconEyeOff } from "../ui/Icons.tsx";
import { ActionsMenu, deletion } from "../ui/ActionsMenu.tsx";
import { DeleteDialog, type DialogProps } from "../ui/Dialogs.tsx";
import { useDownload } from "./use-download.ts";
import { ErrorNotice } from "../ui/Notices.tsx";

export function TakeMenu({ prediction, title }: { prediction: Prediction; title: string }) {
  const keyframe = useKeyframe();
  const download = useDownload(title);
  const { hidden, output } = prediction;
  const hide = useMutation({ mutationFn: () => keyframe.predictions.setHidden(prediction, !hidden) });
  return (
    <>
      <ActionsMenu
        size={26}
        variant="default"
        aria-label="More actions"
        actions={[
          output !== null && { label: "Download", Icon: IconDownload, run: () => download(prediction) },
          {
            label: hidden ? "Unhide" : "Hide",
            Icon: hidden ? IconEye : IconEyeOff,
            run: () => !hide.isPending && hide.mutate(),
          },
          deletion((opened) => <DeleteTake {...opened} {...{ prediction, title }} />),
        ]}
      />
      <ErrorNotice title={hidden ? "Could not unhide it" : "Could not hide it"} error={hide.error} />
    </>
  );
}

function DeleteTake({ prediction, title, ...opened }: DialogProps & { prediction: Prediction; title: string }) {
  const { predictionId: id, step, output } = prediction;
  const name = `${STEP_NAME[step]} of ${title}`;
  const remove = (last: KeyframeClient) => last.predictions.delete(prediction);
  const removal = useDeleteLater({ id, title: name, remove }, opened.onClose);
  return (
    <DeleteDialog {...opened} noun="take" removal={removal}>
      {output === null ? "It" : "It and its file"} will be deleted. You can undo it for ten seconds.
      {output !== null && step !== "video" && " Videos made from it are kept."}
    </DeleteDialog>
  );
}
