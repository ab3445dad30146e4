import { Checkbox, SegmentedControl, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { FilmWithShots, KeyframeClient, Prediction, Shot, Step } from "../../../client/index.ts";
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
  // Outdated ones too: a video that is made from one would be called current.
  const lacksFrame = shots.some((shot, at) => {
    const { takes, predictions } = shot;
    const isMissing = !takes["first-frame"] && !takes.video && !isRunning(predictions["first-frame"]);
    return (isMissing || takes["first-frame"]?.outdated) && !beginsElsewhere(shot, at);
  });
  const [chosen, setChosen] = useState<Step | null>(null);
  const step = chosen ?? (lacksFrame ? "first-frame" : "video");
  const isOutdated = shots.some(({ takes }) => takes[step]?.outdated);
  const [withOutdated, setWithOutdated] = useState(true);
  const outdated = isOutdated && withOutdated;
  /** Shots whose box was changed. */
  const [changed, setChanged] = useState<string[]>([]);
  const { data, error } = useQuery({
    queryKey: ["film estimate", filmId, step, updatedAt, outdated, ...shots.map((shot) => shot.updatedAt)],
    queryFn: ({ signal }) => keyframe.films.estimate(filmId, step, { outdated }, { signal }),
    enabled: isOpen,
    retry: false,
  });
  const starting = useOnce(startAtPrice, undefined, ["start film", filmId]);
  const ofFilm = data?.shots.filter(({ projectId }) => film.projectIds.includes(projectId)); // none that is about to be deleted
  const listed = ofFilm?.map((one) => {
    const at = film.projectIds.indexOf(one.projectId);
    const continues = step === "video" && at > 0 && shots[at]?.plan.video?.continuesPreviousShot === true;
    const take = shots[at]?.takes[step] ?? null;
    const isOff = step === "first-frame" && shots[at]?.takes.video != null && !take?.outdated;
    const isOn = one.error === null && isOff === changed.includes(one.projectId);
    const isEarly = one.error?.code === "frame_not_ready" && !continues;
    const refusal = isEarly ? "It has no first frame yet." : one.error?.message;
    const again =
      take === null ? "" : take.outdated ? "Its take is outdated. " : `It is made again because shot ${at} is. `;
    const isAwaited = ofFilm.some(({ projectId }) => projectId === film.projectIds[at - 1]);
    const beginning = continues ? `It starts where shot ${at} ends${isAwaited ? ", once that is made" : ""}.` : "";
    const note = refusal ?? (isOff ? "It has a video." : `${again}${beginning}`.trim() || null);
    return { ...one, isOn, note, label: `${at + 1}. ${shots[at]?.title ?? ""}` };
  });
  const wanted = listed?.filter(({ isOn }) => isOn) ?? [];
  const sum = sumOf(wanted.map(({ estimateMicros }) => estimateMicros));
  const most = sumOf(wanted.map(({ atMostMicros }) => atMostMicros));
  const limits = data && ofPart(data, most);
  const start = { what: countWords(step, wanted.length), fewer: wanted.length > 1 ? "fewer shots" : undefined };
  const overBudget = limits && wanted.length > 0 ? overBudgetWords(limits, start) : null;
  const close = () => {
    setChosen(null);
    setChanged([]);
    onClose();
  };
  return (
    <FormWindow
      title={`Generate what is ${shots.every(({ takes }) => takes.video !== null) ? "outdated" : "missing"}`}
      submit={wanted.length === 0 ? "Generate" : `Generate ${countWords(step, wanted.length)}`}
      failed="Could not start"
      isOpen={isOpen}
      onClose={close}
      saving={starting}
      canSubmit={wanted.length > 0}
      done={
        starting.data && (
          <Text role="status">
            {starting.data.length === 0
              ? "They are already being generated."
              : `${countWords(starting.variables.step, starting.data.length)} started. This page shows how far each is.`}
          </Text>
        )
      }
      onSubmit={() => {
        const body = { projectIds: wanted.map(({ projectId }) => projectId), outdated };
        starting.mutate({ filmId, step, body, atMostMicros: most });
      }}
    >
      <SegmentedControl
        aria-label="Step"
        value={step}
        onChange={setChosen}
        data={PLAYING_ORDER.map((value) => ({ value, label: STEP_NAME[value] }))}
      />
      <Text size="sm">Uses each shot's settings, prompt and cast.</Text>
      {isOutdated && (
        <Checkbox
          label="Also regenerate what is outdated"
          checked={withOutdated}
          onChange={({ currentTarget }) => setWithOutdated(currentTarget.checked)}
        />
      )}
      <ErrorNotice title="Could not load what is missing" error={error} />
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

type Start = {
  filmId: string;
  step: Step;
  body: { projectIds: string[]; outdated: boolean };
  atMostMicros: number | null;
};

/** Starts at the price that was shown, or not at all: somebody may have changed how a shot is made. */
async function startAtPrice(
  keyframe: KeyframeClient,
  { filmId, step, body, atMostMicros }: Start,
  once: { idempotencyKey: string },
): Promise<Prediction[]> {
  if (atMostMicros === null) return (await keyframe.films.generate(filmId, step, body, once)).predictions;
  const priced = await keyframe.films.estimate(filmId, step, body, { quote: true });
  if (priced.shots.length === 0) return [];
  if (priced.quoteId === null || priced.atMostMicros !== atMostMicros)
    throw new Error("The price has changed. Close this window and open it again.");
  const { predictions = [] } = await keyframe.startQuote({ quoteId: priced.quoteId, atMostMicros });
  return predictions;
}
