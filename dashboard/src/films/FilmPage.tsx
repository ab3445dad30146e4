import { Grid, Group, Stack, Text, VisuallyHidden } from "@mantine/core";
import { useState } from "react";
import { useParams } from "react-router";
import { missingVideos } from "../../../client/film.ts";
import type { FilmWithShots, ShotPrediction } from "../../../client/index.ts";
import { NewProject } from "../projects/NewProject.tsx";
import { isGone } from "../ui/errors.ts";
import { countWords, PLAYING_ORDER } from "../takes/status-words.ts";
import { runningOf, useCancel, useReadAgainAtEnds } from "../queries/project-queries.ts";
import { useStoreEnds } from "../queries/reference-image.ts";
import { IconDownload, IconMovie } from "../ui/icons.tsx";
import { BackLink, EmptyState, Missing, PageHead, Unread } from "../ui/page-parts.tsx";
import { FormWindow, useWindow } from "../ui/windows.tsx";
import { AddShot } from "./AddShot.tsx";
import { CastPanel } from "./CastPanel.tsx";
import { DownloadFilm } from "./DownloadFilm.tsx";
import { FilmMenu } from "./FilmMenu.tsx";
import { GenerateMissing } from "./GenerateMissing.tsx";
import { FilmPlayer, useFilmPlayer } from "./FilmPlayer.tsx";
import { ShotRow } from "./ShotRow.tsx";
import { continuesPrevious, pauseWhileRunning, useChangeFilm, useFilm } from "../queries/film-queries.ts";
import { useDragOrder } from "./use-drag-order.ts";
import { BusyButton, NewButton, SmallButton } from "../ui/buttons.tsx";
import { cancelWords } from "../takes/cost-words.ts";
import { ErrorNotice, notify } from "../ui/notices.tsx";

export function Component() {
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

function FilmView({ film }: { film: FilmWithShots }) {
  const { shots } = film;
  const creating = useWindow();
  const adding = useWindow();
  const downloading = useWindow();
  const generating = useWindow();
  const canceling = useWindow();
  const cancel = useCancel();
  const [moved, setMoved] = useState("");
  const change = useChangeFilm(film);
  /** Moves the shot at `from` to the place of its neighbour. */
  const move = (from: number, to: number) => {
    if (change.isPending || to < 0 || to >= shots.length) return;
    const projectIds = film.projectIds.toSpliced(from, 1).toSpliced(to, 0, film.projectIds[from] ?? "");
    const place = `${shots[from]?.title} is shot ${to + 1} of ${shots.length}.`;
    change.mutate({ projectIds }, { onSuccess: () => setMoved(place) });
  };
  const { handleOf, styleOf } = useDragOrder(move);
  const isComplete = missingVideos(film) === null;
  const running = shots.flatMap(runningOf);
  useReadAgainAtEnds(running);
  const awaited = new Set(shots.map(({ predictions }) => predictions.video?.waitsFor));
  const ends = useStoreEnds(
    shots.filter(
      ({ takes: { video } }, at) => continuesPrevious(shots, at + 1) || (video && awaited.has(video.predictionId)),
    ),
  );
  const isOutdated = shots.some(({ takes }) => Object.values(takes).some((take) => take?.outdated));
  /** Each shot without a video is being made. */
  const isUnderWay = shots.every((one) => one.takes.video !== null || runningOf(one).length > 0);
  const newShot = (
    <NewButton px="sm" variant={isComplete ? "default" : "filled"} onClick={creating.open}>
      New shot
    </NewButton>
  );
  const frames = shots.flatMap(({ takes }) => [takes["first-frame"], takes["last-frame"]]);
  const posters = new Map(frames.map((frame) => [frame?.predictionId ?? null, frame?.output?.url]));
  const videos = shots.flatMap(({ projectId: id, title, takes: { video } }, at) =>
    video?.output
      ? [{ id, title, number: at + 1, output: video.output, poster: posters.get(video.input.firstFramePredictionId) }]
      : [],
  );
  const player = useFilmPlayer(videos);
  return (
    <>
      <BackLink to="/films" label="Films" />
      <PageHead
        title={film.title}
        actions={
          <Group gap="xs" wrap="nowrap">
            {shots.length > 0 && (
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
            <FilmMenu film={film} onAdd={adding.open} />
          </Group>
        }
      />
      <ErrorNotice title="Could not change the order" error={change.error} />
      <ErrorNotice title="Could not read the end image of a video" error={ends} />
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
        {videos.length > 0 && (
          <Grid.Col span={{ base: 12, md: 7 }}>
            <FilmPlayer player={player} count={shots.length} />
          </Grid.Col>
        )}
        <Grid.Col span={{ base: 12, md: videos.length > 0 ? 5 : 12 }}>
          <Stack component="ol" gap="sm" className="plain-list" aria-label="Shots">
            {shots.map((one, at) => (
              <ShotRow
                key={one.projectId}
                shot={one}
                before={shots[at - 1]}
                at={at}
                count={shots.length}
                onMove={move}
                onPlay={player.play}
                handle={handleOf(at)}
                style={styleOf(at)}
              />
            ))}
          </Stack>
          {shots.length > 0 && (!isComplete || isOutdated || running.length > 0) && (
            <Group mt="sm">
              {(!isComplete || isOutdated) && (
                <BusyButton variant="default" isBusy={isUnderWay && !isOutdated} onClick={generating.open}>
                  Generate what is {isComplete ? "outdated" : "missing"}
                </BusyButton>
              )}
              <Text size="sm" role="status">
                {running.length > 0 && `Generating: ${runningWords(running)}.`}
              </Text>
              {running.length > 0 && <SmallButton onClick={canceling.open}>Cancel</SmallButton>}
            </Group>
          )}
        </Grid.Col>
      </Grid>
      <CastPanel film={film} />
      <VisuallyHidden role="status">{moved}</VisuallyHidden>
      <NewProject
        {...creating.window}
        filmId={film.filmId}
        before={shots.at(-1)}
        onCreated={({ title }) => notify(`“${title}” is the last shot.`)}
      />
      <AddShot film={film} {...adding.window} />
      <DownloadFilm film={film} {...downloading.window} />
      <GenerateMissing film={film} {...generating.window} />
      <FormWindow
        title="Cancel what is under way?"
        submit={`Cancel ${runningWords(running)}`}
        cancel="Keep them"
        failed="Could not cancel"
        isHarmful
        isOpen={canceling.window.isOpen && running.length > 0}
        onClose={canceling.window.onClose}
        saving={cancel}
        onSubmit={() => cancel.mutate(running, { onSuccess: canceling.window.onClose })}
      >
        <Text size="sm">{cancelWords(running)}</Text>
      </FormWindow>
    </>
  );
}

/** Such as “2 first frames, 1 video”. */
const runningWords = (running: ShotPrediction[]): string =>
  PLAYING_ORDER.flatMap((step) => {
    const { length } = running.filter((one) => one.step === step);
    return length === 0 ? [] : countWords(step, length);
  }).join(", ");
