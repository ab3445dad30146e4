import { Checkbox, SegmentedControl, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { FilmWithShots, Shot, Step } from "../../../client/index.ts";
import { useKeyframe, useOnce } from "../services.ts";
import { isRunning } from "../queries/project-queries.ts";
import { countWords, PLAYING_ORDER, STEP_NAME } from "../steps/status-words.ts";
import { exceedsBalance, ofPart, overBudgetWords } from "../steps/cost-words.ts";
import { dollars } from "../ui/money.ts";
import { CreditLink, ErrorNotice } from "../ui/notices.tsx";
import { FormWindow, type WindowProps } from "../ui/windows.tsx";

/** Whether the plan of a shot lets its video begin elsewhere. */
const beginsElsewhere = ({ plan: { video = {} } }: Shot, at: number) =>
  (video.continuesPreviousShot === true && at > 0) ||
  "firstFramePredictionId" in video ||
  "firstFrameImagePath" in video;

/** Null: one is not known. */
const sumOf = (micros: (number | null)[]) =>
  micros.reduce((some, one) => (some === null || one === null ? null : some + one), 0);

/** Starts a step for the shots that lack it, each as it is planned. */
export function GenerateMissing({ film, isOpen, onClose }: WindowProps & { film: FilmWithShots }) {
  const { filmId, shots, updatedAt } = film;
  const keyframe = useKeyframe();
  const lacksFrame = shots.some((shot, at) => {
    const { takes, predictions } = shot;
    const isMissing = !takes["first-frame"] && !takes.video && !isRunning(predictions["first-frame"]);
    return isMissing && !beginsElsewhere(shot, at);
  });
  const [chosen, setChosen] = useState<Step | null>(null);
  const step = chosen ?? (lacksFrame ? "first-frame" : "video");
  const isOutdated = shots.some(({ takes }) => takes[step]?.outdated);
  const [withOutdated, setWithOutdated] = useState(true);
  const outdated = isOutdated && withOutdated;
  /** Shots whose box was changed. */
  const [changed, setChanged] = useState<string[]>([]);
  const { data, error } = useQuery({
    queryKey: ["film estimate", filmId, step, updatedAt, outdated],
    queryFn: ({ signal }) => keyframe.films.estimate(filmId, step, { outdated }, { signal }),
    enabled: isOpen,
    retry: false,
  });
  const starting = useOnce(
    (client, { step: asked, ...body }: { step: Step; projectIds: string[]; outdated: boolean }, once) =>
      client.films.generate(filmId, asked, body, once),
    undefined,
    ["start film", filmId],
  );
  const ofFilm = data?.shots.filter(({ projectId }) => film.projectIds.includes(projectId)); // none that is about to be deleted
  const listed = ofFilm?.map((one) => {
    const at = film.projectIds.indexOf(one.projectId);
    const continues = step === "video" && at > 0 && shots[at]?.plan.video?.continuesPreviousShot === true;
    const isOff = step === "first-frame" && shots[at]?.takes.video != null;
    const isOn = one.error === null && isOff === changed.includes(one.projectId);
    const isEarly = one.error?.code === "frame_not_ready" && !continues;
    const refusal = isEarly ? "It has no first frame yet." : one.error?.message;
    const isAgain = shots[at]?.takes[step] != null && !continues;
    const note =
      refusal ??
      (isAgain ? "Its take is outdated." : null) ??
      (continues ? `It begins where shot ${at} ends, once that is made.` : isOff ? "It has a video." : null);
    return { ...one, isOn, note, label: `${at + 1}. ${shots[at]?.title ?? ""}` };
  });
  const wanted = listed?.filter(({ isOn }) => isOn) ?? [];
  const sum = sumOf(wanted.map(({ estimateMicros }) => estimateMicros));
  const limits = data && ofPart(data, sumOf(wanted.map(({ atMostMicros }) => atMostMicros)));
  const start = { what: countWords(step, wanted.length), fewer: wanted.length > 1 ? "fewer shots" : undefined };
  const overBudget = limits && wanted.length > 0 ? overBudgetWords(limits, start) : null;
  const close = () => {
    setChosen(null);
    setChanged([]);
    onClose();
  };
  return (
    <FormWindow
      title="Generate what is missing"
      submit={wanted.length === 0 ? "Generate" : `Generate ${countWords(step, wanted.length)}`}
      failed="Could not start"
      isOpen={isOpen}
      onClose={close}
      saving={starting}
      canSubmit={wanted.length > 0}
      done={
        starting.data && (
          <Text role="status">
            {countWords(starting.variables.step, starting.data.predictions.length)} started. This page shows how far
            each is.
          </Text>
        )
      }
      onSubmit={() => starting.mutate({ step, projectIds: wanted.map(({ projectId }) => projectId), outdated })}
    >
      <SegmentedControl
        aria-label="Step"
        value={step}
        onChange={setChosen}
        data={PLAYING_ORDER.map((value) => ({ value, label: STEP_NAME[value] }))}
      />
      <Text size="sm">With the settings, the prompt and the cast of each shot.</Text>
      {isOutdated && (
        <Checkbox
          label="Also regenerate what is outdated"
          checked={withOutdated}
          onChange={({ currentTarget }) => setWithOutdated(currentTarget.checked)}
        />
      )}
      <ErrorNotice title="Could not read what is missing" error={error} />
      {listed?.length === 0 && (
        <Text size="sm">Each shot has a {STEP_NAME[step].toLowerCase()}, needs none, or it is being made.</Text>
      )}
      <Stack gap="xs" mah="40vh" style={{ overflowY: "auto" }}>
        {listed?.map(({ projectId, isOn, note, label, error: refused }) => (
          <Checkbox
            key={projectId}
            label={label}
            description={note}
            checked={isOn}
            disabled={refused !== null}
            onChange={() =>
              setChanged((some) =>
                some.includes(projectId) ? some.filter((id) => id !== projectId) : [...some, projectId],
              )
            }
          />
        ))}
      </Stack>
      {wanted.length > 0 && <Text size="sm">{sum === null ? "Price unknown" : `About ${dollars(sum)}`}</Text>}
      {limits && overBudget !== null && (
        <Text size="sm">
          {overBudget} {exceedsBalance(limits) && <CreditLink />}
        </Text>
      )}
    </FormWindow>
  );
}
