import { Group, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { missingVideos } from "../../../client/film.ts";
import type { FilmWithShots, ShotPrediction } from "../../../client/index.ts";
import { useSavePlans } from "../queries/plan-edits.ts";
import { runningOf, useCancel } from "../queries/project-queries.ts";
import { CHANGES_NOTHING } from "../queries/query-client.ts";
import { cancelWords } from "../takes/cost-words.ts";
import { countWords, PLAYING_ORDER } from "../takes/status-words.ts";
import { BusyButton, SmallButton } from "../ui/Buttons.tsx";
import { type DialogProps, FormDialog, useDialog } from "../ui/Dialogs.tsx";
import { notifyError } from "../ui/Notices.tsx";
import { GenerateMissing } from "./GenerateMissing.tsx";

export function FilmProgress({ film }: { film: FilmWithShots }) {
  const { shots } = film;
  const generating = useDialog();
  const savePlans = useSavePlans();
  // The plans are saved first: the service prices saved plans.
  const opening = useMutation({
    meta: CHANGES_NOTHING,
    mutationFn: () => savePlans(film.projectIds),
    onSuccess: generating.open,
    onError: (error) => notifyError("Could not save the settings of a shot", error),
  });
  const canceling = useDialog();
  const running = shots.flatMap(runningOf);
  const isComplete = missingVideos(film) === null;
  const isOutdated = shots.some(({ takes }) => Object.values(takes).some((take) => take?.outdated));
  /** Whether every shot without a video is being generated. */
  const isUnderWay = shots.every((shot) => shot.takes.video !== null || runningOf(shot).length > 0);
  const canGenerate = !isComplete || isOutdated;
  return (
    <>
      {(canGenerate || running.length > 0) && (
        <Group mt="sm">
          {canGenerate && (
            <BusyButton
              variant="default"
              isBusy={opening.isPending || (isUnderWay && !isOutdated)}
              onClick={() => opening.mutate()}
            >
              Generate what is {isComplete ? "outdated" : "missing"}
            </BusyButton>
          )}
          <Text size="sm" role="status">
            {running.length > 0 && `Generating: ${runningWords(running)}.`}
          </Text>
          {running.length > 0 && <SmallButton onClick={canceling.open}>Cancel</SmallButton>}
        </Group>
      )}
      <GenerateMissing film={film} {...generating.dialog} />
      <CancelDialog running={running} {...canceling.dialog} />
    </>
  );
}

function CancelDialog({ running, isOpen, onClose }: DialogProps & { running: ShotPrediction[] }) {
  const cancel = useCancel();
  return (
    <FormDialog
      title="Cancel what is running?"
      submit={`Cancel ${runningWords(running)}`}
      cancel="Keep running"
      failed="Could not cancel"
      isHarmful
      isOpen={isOpen && running.length > 0}
      onClose={onClose}
      saving={cancel}
      onSubmit={() => cancel.mutate(running, { onSuccess: onClose })}
    >
      <Text size="sm">{cancelWords(running)}</Text>
    </FormDialog>
  );
}

/** For example “2 first frames, 1 video”. */
const runningWords = (running: ShotPrediction[]): string =>
  PLAYING_ORDER.flatMap((step) => {
    const { length } = running.filter((one) => one.step === step);
    return length === 0 ? [] : countWords(step, length);
  }).join(", ");
