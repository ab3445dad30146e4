import { Grid, Group, Stack, Text, VisuallyHidden } from "@mantine/core";
import type { ReactNode } from "react";
import { useMutation } from "@tanstack/react-query";
import { useParams } from "react-router";
import { missingVideos } from "../../../client/film.ts";
import type { FilmWithShots, ShotPrediction } from "../../../client/index.ts";
import { NewProject } from "../projects/NewProject.tsx";
import { continuesPrevious, pauseWhileRunning, useFilm } from "../queries/film-queries.ts";
import { useSavePlans } from "../queries/plan-edits.ts";
import { runningOf, useCancel, useReadAgainAtEnds } from "../queries/project-queries.ts";
import { CHANGES_NOTHING } from "../queries/query-client.ts";
import { useStoreEnds } from "../queries/reference-image.ts";
import { cancelWords } from "../takes/cost-words.ts";
import { countWords, PLAYING_ORDER } from "../takes/status-words.ts";
import { BusyButton, NewButton, SmallButton } from "../ui/Buttons.tsx";
import { isGone } from "../ui/errors.ts";
import { IconDownload, IconMovie } from "../ui/Icons.tsx";
import { ErrorNotice, notify, notifyError } from "../ui/Notices.tsx";
import { BackLink, EmptyState, Missing, PageHead, Unread } from "../ui/PageParts.tsx";
import { type DialogProps, FormDialog, useDialog } from "../ui/Dialogs.tsx";
import { AddShot } from "./AddShot.tsx";
import { CastPanel } from "./CastPanel.tsx";
import { DownloadFilm } from "./DownloadFilm.tsx";
import { FilmMenu } from "./FilmMenu.tsx";
import { FilmPlayer, useFilmPlayer } from "./FilmPlayer.tsx";
import { GenerateMissing } from "./GenerateMissing.tsx";
import { ShotRow } from "./ShotRow.tsx";
import { useShotOrder } from "./use-shot-order.ts";

export default function FilmPage() {
  const { filmId = "" } = useParams();
  const film = useFilm(filmId, pauseWhileRunning);
  if (isGone(film.error)) {
    return <Missing title="Film not found" to="/films" label="Go to films" />;
  }
  if (film.data !== undefined) return <FilmView key={filmId} film={film.data} />;
  return (
    <>
      <PageHead title="Film" />
      <Unread query={film} what="the film" heights={[240]} />
    </>
  );
}

type FilmProps = { film: FilmWithShots };

function FilmView({ film }: FilmProps) {
  const { shots } = film;
  const creating = useDialog();
  const adding = useDialog();
  const newShot = (
    <NewButton px="sm" variant={missingVideos(film) === null ? "default" : "filled"} onClick={creating.open}>
      New shot
    </NewButton>
  );
  const order = useShotOrder(film);
  const player = useFilmPlayer(videosOf(film));
  useReadAgainAtEnds(shots.flatMap(runningOf));
  const notStored = useStoreNeededEnds(film);
  const hasVideos = player.videos.length > 0;
  return (
    <>
      <FilmHead film={film} newShot={newShot} onAdd={adding.open} />
      <ErrorNotice title="Could not change the order" error={order.error} />
      <ErrorNotice title="Could not read the end image of a video" error={notStored} />
      {shots.length === 0 && (
        <EmptyState
          Icon={IconMovie}
          title="No shots yet"
          text="Create a new shot or add an existing one."
          action={
            <Group>
              {newShot}
              <NewButton variant="default" onClick={adding.open}>
                Add an existing shot
              </NewButton>
            </Group>
          }
        />
      )}
      <Grid gap="lg" mb="lg">
        {hasVideos && (
          <Grid.Col span={{ base: 12, md: 7 }}>
            <FilmPlayer player={player} count={shots.length} />
          </Grid.Col>
        )}
        <Grid.Col span={{ base: 12, md: hasVideos ? 5 : 12 }}>
          <Stack component="ol" gap="sm" className="plain-list" aria-label="Shots">
            {shots.map((shot, at) => (
              <ShotRow key={shot.projectId} shot={shot} at={at} shots={shots} order={order} onPlay={player.play} />
            ))}
          </Stack>
          {shots.length > 0 && <FilmProgress film={film} />}
        </Grid.Col>
      </Grid>
      <CastPanel film={film} />
      <VisuallyHidden role="status">{order.moved}</VisuallyHidden>
      <NewProject
        {...creating.dialog}
        filmId={film.filmId}
        before={shots.at(-1)}
        onCreated={({ title }) => notify(`“${title}” is the last shot.`)}
      />
      <AddShot film={film} {...adding.dialog} />
    </>
  );
}

/** Stores the end images on which other videos start: of this film's next shots, and of those that wait for one. */
function useStoreNeededEnds({ shots }: FilmWithShots): Error | null {
  const awaited = new Set(shots.map(({ predictions }) => predictions.video?.waitsFor));
  return useStoreEnds(
    shots.filter(
      ({ takes: { video } }, at) => continuesPrevious(shots, at + 1) || (video && awaited.has(video.predictionId)),
    ),
  );
}

/** What the player plays, each with the picture of the frame that it starts on. */
function videosOf({ shots }: FilmWithShots) {
  const frames = shots.flatMap(({ takes }) => [takes["first-frame"], takes["last-frame"]]);
  const posters = new Map(frames.map((frame) => [frame?.predictionId ?? null, frame?.output?.url]));
  return shots.flatMap(({ projectId: id, title, takes: { video } }, at) => {
    if (!video?.output) return [];
    const poster = posters.get(video.input.firstFramePredictionId);
    return [{ id, title, number: at + 1, output: video.output, poster }];
  });
}

function FilmHead({ film, newShot, onAdd }: FilmProps & { newShot: ReactNode; onAdd: () => void }) {
  const downloading = useDialog();
  const isComplete = missingVideos(film) === null;
  return (
    <>
      <BackLink to="/films" label="Films" />
      <PageHead
        title={film.title}
        actions={
          <Group gap="xs" wrap="nowrap">
            {film.shots.length > 0 && (
              <>
                <BusyButton
                  px="sm"
                  variant={isComplete ? "filled" : "default"}
                  leftSection={<IconDownload size={18} />}
                  onClick={downloading.open}
                >
                  Download
                </BusyButton>
                {newShot}
              </>
            )}
            <FilmMenu film={film} onAdd={onAdd} />
          </Group>
        }
      />
      <DownloadFilm film={film} {...downloading.dialog} />
    </>
  );
}

/** Generates what is missing or outdated, and says what is being generated. Nothing for a film that is complete. */
function FilmProgress({ film }: FilmProps) {
  const { shots } = film;
  const generating = useDialog();
  const savePlans = useSavePlans();
  // Prices are those of saved plans.
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
  /** Each shot without a video is being made. */
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
      title="Cancel what is under way?"
      submit={`Cancel ${runningWords(running)}`}
      cancel="Keep them"
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

/** Such as “2 first frames, 1 video”. */
const runningWords = (running: ShotPrediction[]): string =>
  PLAYING_ORDER.flatMap((step) => {
    const { length } = running.filter((one) => one.step === step);
    return length === 0 ? [] : countWords(step, length);
  }).join(", ");
