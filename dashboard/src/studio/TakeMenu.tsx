import { ActionIcon, Button, Group, Menu, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconDots, IconDownload, IconEye, IconEyeOff, IconTrash } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { KeyframeError, type Prediction } from "../../../client/index.ts";
import { projectKeys, storePrediction } from "../projects/prediction-cache.ts";
import { readTakesAgain } from "../projects/project-queries.ts";
import { nounOf } from "../projects/status-words.ts";
import { useKeyframe } from "../services.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/messages.tsx";
import { useDownload } from "./use-download.ts";

type Props = { prediction: Prediction; title: string };

/** What can be done with a prediction that has ended: download, hide, delete. */
export function TakeMenu({ prediction, title }: Props) {
  const target = useRef<HTMLButtonElement>(null);
  const [isDeleting, deleting] = useDisclosure(false);
  const download = useDownload(title);
  const hide = useHide();
  const { hidden, output } = prediction;
  return (
    <>
      <Menu position="bottom-end" withinPortal={false}>
        <Menu.Target>
          <ActionIcon ref={target} size={26} variant="default" aria-label="More actions">
            <IconDots size={16} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {output !== null && (
            <Menu.Item
              leftSection={<IconDownload size={16} aria-hidden />}
              onClick={() => !download.isPending && download.mutate(prediction)}
            >
              Download
            </Menu.Item>
          )}
          <Menu.Item
            leftSection={hidden ? <IconEye size={16} aria-hidden /> : <IconEyeOff size={16} aria-hidden />}
            onClick={() => !hide.isPending && hide.mutate(prediction)}
          >
            {hidden ? "Show again" : "Hide"}
          </Menu.Item>
          <Menu.Item
            c="var(--mantine-color-error)"
            leftSection={<IconTrash size={16} aria-hidden />}
            onClick={() => {
              target.current?.focus(); // a modal returns the focus to the element that had it; this item is gone by then
              deleting.open();
            }}
          >
            Delete
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {hide.error !== null && (
        <ErrorNotice title={hidden ? "Could not show it" : "Could not hide it"} error={hide.error} />
      )}
      <DeleteTake prediction={prediction} isOpen={isDeleting} onClose={deleting.close} />
    </>
  );
}

function useHide() {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (prediction: Prediction) => keyframe.hidePrediction(prediction, !prediction.hidden),
    onSuccess: (changed) => {
      storePrediction(queries, changed);
      readTakesAgain(queries, changed.projectId);
    },
  });
}

type DeleteProps = { prediction: Prediction; isOpen: boolean; onClose: () => void };

/** Confirms the deletion of a prediction and shows why it may be refused. */
function DeleteTake({ prediction, isOpen, onClose }: DeleteProps) {
  const { step, output } = prediction;
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () =>
      keyframe.deletePrediction(prediction).catch((error: unknown) => {
        // An earlier answer was lost.
        if (!(error instanceof KeyframeError) || error.code !== "not_found") throw error;
      }),
    onSuccess: () => {
      onClose();
      queries.setQueryData(projectKeys.prediction(prediction.predictionId), null);
      readTakesAgain(queries, prediction.projectId);
    },
  });
  const close = () => {
    remove.reset();
    onClose();
  };
  const noun = output === null ? "run" : nounOf(step);
  return (
    <Modal opened={isOpen} onClose={close} title={`Delete this ${noun}?`} centered>
      <Stack>
        <Text size="sm">
          {output === null ? "It" : "It and its file"} will be deleted. This cannot be undone.
          {output !== null && step !== "video" && " Videos made from it stay."}
        </Text>
        {remove.error !== null && <ErrorNotice title={`Could not delete the ${noun}`} error={remove.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close} data-autofocus>
            Keep {noun}
          </Button>
          <BusyButton color="red.9" isBusy={remove.isPending} onClick={() => remove.mutate()}>
            Delete {noun}
          </BusyButton>
        </Group>
      </Stack>
    </Modal>
  );
}
