import { Checkbox, SegmentedControl, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { FilmEstimate, FilmWithShots, KeyframeClient, Prediction, Step } from "../../../client/index.ts";
import { continuesPrevious } from "../queries/film-queries.ts";
import { mutationKeys, queryKeys } from "../queries/query-keys.ts";
import { useOnce } from "../queries/use-once.ts";
import { type Once, useKeyframe } from "../services.ts";
import { aboutWords, exceedsBalance, ofPart, overBudgetWords } from "../takes/cost-words.ts";
import { countWords, PLAYING_ORDER, STEP_NAME } from "../takes/status-words.ts";
import { CreditLink, ErrorNotice } from "../ui/Notices.tsx";
import { type DialogProps, FormDialog, useTyped } from "../ui/Dialogs.tsx";
import { capitalized } from "../ui/words.ts";

/** The sum is null if an amount is unknown. */
const sumOf = (micros: (number | null)[]) =>
  micros.reduce((some, one) => (some === null || one === null ? null : some + one), 0);

/** The cost of a step of the film, and the shots that cannot start. */
function useFilmEstimate({ filmId, updatedAt, shots }: FilmWithShots, step: Step, outdated: boolean, enabled: boolean) {
  const keyframe = useKeyframe();
  return useQuery({
    queryKey: queryKeys.filmEstimate(filmId, step, outdated, updatedAt, ...shots.map((shot) => shot.updatedAt)),
    queryFn: ({ signal }) => keyframe.films.estimate(filmId, step, { outdated }, { signal }),
    enabled,
    retry: false,
  });
}

type Missing = FilmEstimate["shots"][number];
type Listed = Missing & { isChecked: boolean; isDisabled: boolean; note: string; label: string };

/** The shots that lack a step, with their checkboxes. A shot cannot be made if it continues one that is not checked. */
function listShots({ projectIds, shots }: FilmWithShots, step: Step, missing: Missing[], unticked: string[]): Listed[] {
  const listed: Listed[] = [];
  for (const one of missing) {
    const at = projectIds.indexOf(one.projectId);
    const shot = shots[at];
    if (shot === undefined) continue; // it is about to be deleted
    const take = shot.takes[step];
    const continues = step === "video" && continuesPrevious(shots, at);
    const previous = listed.find(({ projectId }) => continues && projectId === projectIds[at - 1]);
    // A shot whose take is up to date is listed only because the previous shot is listed too.
    const hasReason = shots[at - 1]?.takes.video && take?.outdated !== false;
    const isLeftOutToo = previous?.isChecked === false && !hasReason;
    const isDisabled = one.error !== null || isLeftOutToo;
    const notes = {
      error: one.error?.code === "frame_not_ready" && !continues ? "It has no first frame yet." : one.error?.message,
      leftOutToo: isLeftOutToo ? `It continues shot ${at}, which is left out.` : undefined,
      again: take && (take.outdated ? "Outdated. " : `Regenerated because shot ${at} is regenerated. `),
      start: continues ? `It starts where shot ${at} ends${previous ? ", once that is generated" : ""}.` : "",
    };
    listed.push({
      ...one,
      isChecked: !isDisabled && !unticked.includes(one.projectId),
      isDisabled,
      note: notes.error ?? notes.leftOutToo ?? `${notes.again ?? ""}${notes.start}`.trim(),
      label: `${at + 1}. ${shot.title}`,
    });
  }
  return listed;
}

type Choice = { chosen?: Step; unticked: string[] };

/** Starts a step for the shots that lack it, each as it is planned. People see the first frames before they pay for the videos. */
export function GenerateMissing({ film, ...opened }: DialogProps & { film: FilmWithShots }) {
  const { filmId, shots } = film;
  const [{ chosen, unticked }, set, dialog] = useTyped<Choice>({ unticked: [] }, opened);
  const [outdated, setOutdated] = useState(true);
  const frames = useFilmEstimate(film, "first-frame", outdated, dialog.isOpen);
  const videos = useFilmEstimate(film, "video", outdated, dialog.isOpen);
  const step = chosen ?? (frames.data?.shots.length === 0 ? "video" : "first-frame");
  const { data, error } = useFilmEstimate(film, step, outdated, dialog.isOpen);
  const starting = useOnce(startAtPrice, undefined, mutationKeys.startFilm(filmId));

  const listed = data && listShots(film, step, data.shots, unticked);
  const selected = listed?.filter(({ isChecked }) => isChecked) ?? [];
  const atMostMicros = sumOf(selected.map((one) => one.atMostMicros));
  const hasAllVideos = shots.every(({ takes }) => takes.video !== null);
  const stepName = STEP_NAME[step].toLowerCase();
  return (
    <FormDialog
      title={`Generate what is ${hasAllVideos ? "outdated" : "missing"}`}
      submit={selected.length === 0 ? "Generate" : `Generate ${countWords(step, selected.length)}`}
      failed="Could not start"
      {...dialog}
      saving={starting}
      canSubmit={selected.length > 0}
      done={starting.data && <Started step={starting.variables.step} count={starting.data.length} />}
      onSubmit={() => {
        const body = { projectIds: selected.map(({ projectId }) => projectId), outdated };
        starting.mutate({ filmId, step, body, atMostMicros });
      }}
    >
      <SegmentedControl
        aria-label="Step"
        value={step}
        onChange={(value) => set({ chosen: value })}
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
      {listed?.length === 0 && <Text size="sm">Each shot has a {stepName}, needs none, or is generating one.</Text>}
      <Stack gap="xs" mah="40vh" style={{ overflowY: "auto" }}>
        {listed?.map(({ projectId, isChecked, isDisabled, note, label }) => (
          <Checkbox
            key={projectId}
            label={label}
            description={note || null}
            checked={isChecked}
            disabled={isDisabled}
            onChange={() =>
              set({ unticked: isChecked ? [...unticked, projectId] : unticked.filter((id) => id !== projectId) })
            }
          />
        ))}
      </Stack>
      {data && selected.length > 0 && <Price all={data} step={step} selected={selected} videos={videos.data?.shots} />}
    </FormDialog>
  );
}

const Started = ({ step, count }: { step: Step; count: number }) => (
  <Text role="status">
    {count === 0
      ? "They are already being generated."
      : `Started ${countWords(step, count)}. You can follow them on this page.`}
  </Text>
);

type PriceProps = { all: FilmEstimate; step: Step; selected: Missing[]; videos: Missing[] | undefined };

/** The price of the selected shots; for first frames, also of their videos. Says if a budget or the balance would refuse the start. */
function Price({ all, step, selected, videos }: PriceProps) {
  const sum = sumOf(selected.map(({ estimateMicros }) => estimateMicros));
  const later = videos?.filter(({ error }) => error === null || error.code === "frame_not_ready") ?? [];
  const ofVideos = step === "first-frame" ? sumOf(later.map(({ estimateMicros }) => estimateMicros)) : 0;
  const part = ofPart(all, sumOf(selected.map(({ atMostMicros }) => atMostMicros)));
  const fewer = selected.length > 1 ? "fewer shots" : undefined;
  const overBudget = overBudgetWords(part, { what: countWords(step, selected.length), fewer });
  return (
    <>
      <Text size="sm">
        {capitalized(aboutWords(sum))}
        {ofVideos !== 0 &&
          `. Generate the videos next, once you have seen the frames: ${aboutWords(ofVideos)}. Together ${aboutWords(sumOf([sum, ofVideos]))}.`}
      </Text>
      {overBudget !== null && (
        <Text size="sm">
          {overBudget} {exceedsBalance(part) && <CreditLink />}
        </Text>
      )}
    </>
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
  once: Once,
): Promise<Prediction[]> {
  if (atMostMicros === null) return (await keyframe.films.generate(filmId, step, body, once)).predictions;
  const priced = once.quote ?? (await keyframe.films.estimate(filmId, step, body, { quote: true }));
  if (priced.shots.length === 0) return [];
  if (priced.quoteId === null || priced.atMostMicros !== atMostMicros)
    throw new Error("The price has changed. Close this dialog and open it again.");
  once.quote = priced;
  const { predictions = [] } = await keyframe.startQuote({ quoteId: priced.quoteId, atMostMicros });
  return predictions;
}
