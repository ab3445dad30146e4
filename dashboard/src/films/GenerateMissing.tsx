import { Checkbox, SegmentedControl, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { FilmEstimate, FilmWithShots, KeyframeClient, Prediction, Step } from "../../../client/index.ts";
import { useKeyframe, useOnce } from "../services.ts";
import { continuesPrevious } from "../queries/film-queries.ts";
import { countWords, PLAYING_ORDER, STEP_NAME } from "../takes/status-words.ts";
import { exceedsBalance, ofPart, overBudgetWords } from "../takes/cost-words.ts";
import { dollars } from "../ui/money.ts";
import { CreditLink, ErrorNotice } from "../ui/notices.tsx";
import { FormWindow, type WindowProps } from "../ui/windows.tsx";

/** Null: one is not known. */
const sumOf = (micros: (number | null)[]) =>
  micros.reduce((some, one) => (some === null || one === null ? null : some + one), 0);

const priceWords = (micros: number | null) => (micros === null ? "price unknown" : `about ${dollars(micros)}`);

/** What a step of the film would cost, outdated takes included, and which shots cannot start. */
function useFilmEstimate({ filmId, updatedAt, shots }: FilmWithShots, step: Step, outdated: boolean, enabled: boolean) {
  const keyframe = useKeyframe();
  return useQuery({
    queryKey: ["film estimate", filmId, step, updatedAt, outdated, ...shots.map((shot) => shot.updatedAt)],
    queryFn: ({ signal }) => keyframe.films.estimate(filmId, step, { outdated }, { signal }),
    enabled,
    retry: false,
  });
}

type Listed = FilmEstimate["shots"][number] & { isOn: boolean; isOff: boolean; note: string; label: string };

/** The shots that lack a step, with their boxes. A shot that continues one whose box is not checked cannot be made. */
function listShots(
  { projectIds, shots }: FilmWithShots,
  step: Step,
  missing: FilmEstimate["shots"],
  unticked: string[],
) {
  const listed: Listed[] = [];
  for (const one of missing) {
    const at = projectIds.indexOf(one.projectId);
    const shot = shots[at];
    if (shot === undefined) continue; // it is about to be deleted
    const take = shot.takes[step];
    const continues = step === "video" && continuesPrevious(shots, at);
    const previous = listed.find(({ projectId }) => continues && projectId === projectIds[at - 1]);
    const isLost = previous?.isOn === false && (!shots[at - 1]?.takes.video || take?.outdated === false);
    const isOff = one.error !== null || isLost;
    const again = take === null ? "" : take.outdated ? "Outdated. " : `Generated again because shot ${at} is. `;
    const refusal =
      one.error?.code === "frame_not_ready" && !continues ? "It has no first frame yet." : one.error?.message;
    const lost = isLost ? `It continues shot ${at}, which is left out.` : undefined;
    const beginning = continues ? `It starts where shot ${at} ends${previous ? ", once that is generated" : ""}.` : "";
    listed.push({
      ...one,
      isOn: !isOff && !unticked.includes(one.projectId),
      isOff,
      note: refusal ?? lost ?? `${again}${beginning}`.trim(),
      label: `${at + 1}. ${shot.title}`,
    });
  }
  return listed;
}

/** Starts a step for the shots that lack it, each as it is planned. People see the first frames before they pay for the videos. */
export function GenerateMissing({ film, isOpen, onClose }: WindowProps & { film: FilmWithShots }) {
  const { filmId, shots } = film;
  const [chosen, setChosen] = useState<Step | null>(null);
  const [outdated, setOutdated] = useState(true);
  const [unticked, setUnticked] = useState<string[]>([]);
  const frames = useFilmEstimate(film, "first-frame", outdated, isOpen);
  const videos = useFilmEstimate(film, "video", outdated, isOpen);
  const step = chosen ?? (frames.data?.shots.length === 0 ? "video" : "first-frame");
  const { data, error } = useFilmEstimate(film, step, outdated, isOpen);
  const starting = useOnce(startAtPrice, undefined, ["start film", filmId]);
  const listed = data && listShots(film, step, data.shots, unticked);
  const wanted = listed?.filter(({ isOn }) => isOn) ?? [];
  const sum = sumOf(wanted.map(({ estimateMicros }) => estimateMicros));
  const most = sumOf(wanted.map(({ atMostMicros }) => atMostMicros));
  const later = videos.data?.shots.filter(
    ({ error: refused }) => refused === null || refused.code === "frame_not_ready",
  );
  const ofVideos = sumOf((step === "first-frame" && later?.map(({ estimateMicros }) => estimateMicros)) || []);
  const limits = data && ofPart(data, most);
  const start = { what: countWords(step, wanted.length), fewer: wanted.length > 1 ? "fewer shots" : undefined };
  const overBudget = limits && wanted.length > 0 ? overBudgetWords(limits, start) : null;
  const close = () => {
    setChosen(null);
    setUnticked([]);
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
              : `Started ${countWords(starting.variables.step, starting.data.length)}. You can follow them on this page.`}
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
      {shots.some(({ takes }) => takes[step]?.outdated) && (
        <Checkbox
          label="Also regenerate what is outdated"
          checked={outdated}
          onChange={({ currentTarget }) => setOutdated(currentTarget.checked)}
        />
      )}
      <ErrorNotice title="Could not load what is missing" error={error} />
      {listed?.length === 0 && (
        <Text size="sm">Each shot has a {STEP_NAME[step].toLowerCase()}, needs none, or is generating one.</Text>
      )}
      <Stack gap="xs" mah="40vh" style={{ overflowY: "auto" }}>
        {listed?.map(({ projectId, isOn, isOff, note, label }) => (
          <Checkbox
            key={projectId}
            label={label}
            description={note || null}
            checked={isOn}
            disabled={isOff}
            onChange={() =>
              setUnticked((some) => (isOn ? [...some, projectId] : some.filter((id) => id !== projectId)))
            }
          />
        ))}
      </Stack>
      {wanted.length > 0 && (
        <Text size="sm">
          {sum === null ? "Price unknown" : `About ${dollars(sum)}`}
          {ofVideos !== 0 &&
            `. Generate the videos next, once you have seen the frames: ${priceWords(ofVideos)}. Together ${priceWords(sumOf([sum, ofVideos]))}.`}
        </Text>
      )}
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
