import { Grid, Group, Stack, VisuallyHidden } from "@mantine/core";
import type { ReactNode } from "react";
import { useParams } from "react-router";
import { missingVideos } from "../../../client/film.ts";
import type { FilmWithShots } from "../../../client/index.ts";
import { NewProject } from "../projects/NewProject.tsx";
import { continuesPrevious, pauseWhileRunning, useFilm } from "../queries/film-queries.ts";
import { runningOf, useReadAgainAtEnds } from "../queries/project-queries.ts";
import { useStoreEnds } from "../queries/reference-image.ts";
import { BusyButton, NewButton } from "../ui/Buttons.tsx";
import { isGone } from "../ui/errors.ts";
import { IconDownload, IconMovie } from "../ui/Icons.tsx";
import { ErrorNotice, notify } from "../ui/Notices.tsx";
import { BackLink, EmptyState, Missing, PageHead, Unread } from "../ui/PageParts.tsx";
import { useDialog } from "../ui/Dialogs.tsx";
import { AddShot } from "./AddShot.tsx";
import { CastPanel } from "./CastPanel.tsx";
import { DownloadFilm } from "./DownloadFilm.tsx";
import { FilmMenu } from "./FilmMenu.tsx";
import { FilmPlayer, useFilmPlayer } from "./FilmPlayer.tsx";
import { FilmProgress } from "./FilmProgress.tsx";
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

/** Stores the end images that other videos start on: videos of the next shots, and videos that wait for one. */
function useStoreNeededEnds({ shots }: FilmWithShots): Error | null {
  const awaited = new Set(shots.map(({ predictions }) => predictions.video?.waitsFor));
  return useStoreEnds(
    shots.filter(
      ({ takes: { video } }, at) => continuesPrevious(shots, at + 1) || (video && awaited.has(video.predictionId)),
    ),
  );
}

/** The videos of the film, each with the picture of its first frame. */
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
