import { useMutation } from "@tanstack/react-query";
import type { Prediction } from "../../../client/index.ts";
import { useDeleteLater } from "../queries/delete-later.tsx";
import { STEP_NAME } from "../steps/status-words.ts";
import { useKeyframe } from "../services.ts";
import { IconDownload, IconEye, IconEyeOff, IconTrash } from "../ui/icons.tsx";
import { ActionsMenu, DeleteWindow, type WindowProps } from "../ui/windows.tsx";
import { useDownload } from "../steps/use-download.ts";
import { ErrorNotice } from "../ui/notices.tsx";

/** What can be done with a prediction that has ended: download, hide, delete. */
export function TakeMenu({ prediction, title }: { prediction: Prediction; title: string }) {
  const download = useDownload(title);
  const hide = useHide();
  const { hidden, output } = prediction;
  return (
    <>
      <ActionsMenu
        size={26}
        variant="default"
        aria-label="More actions"
        actions={[
          ...(output === null
            ? []
            : [
                {
                  label: "Download",
                  Icon: IconDownload,
                  run: () => !download.isPending && download.mutate(prediction),
                },
              ]),
          {
            label: hidden ? "Show again" : "Hide",
            Icon: hidden ? IconEye : IconEyeOff,
            run: () => !hide.isPending && hide.mutate(prediction),
          },
          {
            label: "Delete",
            Icon: IconTrash,
            isDelete: true,
            window: (opened) => <DeleteTake {...opened} {...{ prediction, title }} />,
          },
        ]}
      />
      <ErrorNotice title={hidden ? "Could not show it" : "Could not hide it"} error={hide.error} />
    </>
  );
}

function useHide() {
  const keyframe = useKeyframe();
  return useMutation({
    mutationFn: (prediction: Prediction) => keyframe.hidePrediction(prediction, !prediction.hidden),
  });
}

function DeleteTake({ prediction, title, isOpen, onClose }: WindowProps & { prediction: Prediction; title: string }) {
  const { predictionId, step, output } = prediction;
  const deleteLater = useDeleteLater();
  const remove = useMutation({
    mutationFn: () =>
      deleteLater({
        id: predictionId,
        title: `${STEP_NAME[step]} of ${title}`,
        remove: (last) => last.deletePrediction(prediction),
      }),
    onSuccess: onClose,
  });
  return (
    <DeleteWindow noun="take" isOpen={isOpen} onClose={onClose} removal={remove} onDelete={() => remove.mutate()}>
      {output === null ? "It" : "It and its file"} will be deleted. You can undo it for ten seconds.
      {output !== null && step !== "video" && " Videos made from it stay."}
    </DeleteWindow>
  );
}
