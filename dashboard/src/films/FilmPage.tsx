import { ActionIcon, Anchor, Card, Group, Stack, Text, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type ComponentProps, type CSSProperties, Fragment, useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { missingVideos } from "../../../client/film.ts";
import type { FilmWithShots, Shot, ShotPrediction } from "../../../client/index.ts";
import { NewProject } from "../projects/NewProject.tsx";
import { ProjectMenu } from "../projects/ProjectMenu.tsx";
import { isGone } from "../ui/errors.ts";
import { Frame, Outdated, Thumb } from "../steps/Sources.tsx";
import { StepMark } from "../steps/status.tsx";
import { countWords, PLAYING_ORDER } from "../steps/status-words.ts";
import { frameOf, isUpload } from "../steps/step-options.ts";
import { isRunning, runningOf, useReadAgainAtEnds } from "../queries/project-queries.ts";
import { usePrediction } from "../queries/use-predictions.ts";
import { useStoreEnds } from "../queries/reference-image.ts";
import screen from "../steps/screen.module.css";
import link from "../ui/cover-link.module.css";
import {
  IconArrowDown,
  IconArrowRight,
  IconArrowUp,
  IconDownload,
  IconGripVertical,
  IconMovie,
  IconPencil,
  IconPlayerPlay,
  IconPlus,
  IconSend,
  IconTrash,
} from "../ui/icons.tsx";
import { BackLink, EmptyState, Missing, PageHead, Unread } from "../ui/page-parts.tsx";
import { ActionsMenu, DeleteWindow, TitleWindow } from "../ui/windows.tsx";
import { AddProject } from "./AddProject.tsx";
import classes from "./film.module.css";
import { CastPanel } from "./CastPanel.tsx";
import { DownloadFilm } from "./DownloadFilm.tsx";
import { GenerateMissing } from "./GenerateMissing.tsx";
import { FilmPlayer, useFilmPlayer } from "./FilmPlayer.tsx";
import { ShareFilm } from "./ShareFilm.tsx";
import { pauseWhileRunning, useChangeFilm, useDeleteFilm, useFilm } from "../queries/film-queries.ts";
import { useDragOrder } from "./use-drag-order.ts";
import { BusyButton, NewButton } from "../ui/buttons.tsx";
import { costSentence } from "../steps/cost-words.ts";
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
  const [isNew, shot] = useDisclosure(false);
  const [isAdding, adding] = useDisclosure(false);
  const [isDownloading, downloading] = useDisclosure(false);
  const [isGenerating, generating] = useDisclosure(false);
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
      ({ takes: { video } }, at) =>
        shots[at + 1]?.plan.video?.continuesPreviousShot === true || (video && awaited.has(video.predictionId)),
    ),
  );
  const isOutdated = shots.some(({ takes }) => Object.values(takes).some((take) => take?.outdated));
  /** Each shot without a video is being made. */
  const isUnderWay = shots.every((one) => one.takes.video !== null || runningOf(one).length > 0);
  const newShot = (
    <NewButton px="sm" variant={isComplete ? "default" : "filled"} onClick={shot.open}>
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
      <ErrorNotice title="Could not read the last picture of a video" error={ends} />
      {shots.length === 0 && (
        <EmptyState
          Icon={IconMovie}
          title="No shots yet"
          text="A shot is a project of this film. Make a new one, or add an existing project."
          action={
            <Group>
              {newShot}
              <NewButton variant="default" onClick={adding.open}>
                Add a project
              </NewButton>
            </Group>
          }
        />
      )}
      <div className={classes.film} data-played={videos.length > 0 || undefined}>
        <FilmPlayer player={player} count={shots.length} />
        <div>
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
            </Group>
          )}
        </div>
      </div>
      <CastPanel film={film} />
      <VisuallyHidden role="status">{moved}</VisuallyHidden>
      <NewProject
        isOpen={isNew}
        onClose={shot.close}
        filmId={film.filmId}
        before={shots.at(-1)}
        onCreated={({ title }) => notify(`“${title}” is the last shot.`)}
      />
      <AddProject film={film} isOpen={isAdding} onClose={adding.close} />
      <DownloadFilm film={film} isOpen={isDownloading} onClose={downloading.close} />
      <GenerateMissing film={film} isOpen={isGenerating} onClose={generating.close} />
    </>
  );
}

/** Such as “2 first frames, 1 video”. */
const runningWords = (running: ShotPrediction[]): string =>
  PLAYING_ORDER.flatMap((step) => {
    const { length } = running.filter((one) => one.step === step);
    return length === 0 ? [] : countWords(step, length);
  }).join(", ");

type ShotRowProps = {
  shot: Shot;
  before: Shot | undefined;
  at: number;
  count: number;
  onMove: (from: number, to: number) => void;
  onPlay: (projectId: string) => void;
  handle: ComponentProps<"span">;
  style: CSSProperties;
};

/** The frame or image on which the video of a shot would begin. */
function beginningOf({ plan: { video = {} }, takes }: Shot, before: Shot | undefined): string | null {
  if (video.continuesPreviousShot && before) return before.takes.video?.endImagePath ?? null;
  if (video.firstFrameImagePath != null) return video.firstFrameImagePath;
  if (video.firstFramePredictionId !== undefined) return video.firstFramePredictionId;
  return takes["first-frame"]?.predictionId ?? null;
}

function ShotRow({ shot, before, at, count, onMove, onPlay, handle, style }: ShotRowProps) {
  const { projectId, title, predictions, takes } = shot;
  const { video } = takes;
  const known = { projectId, takes, ...(before && { predictions: before.takes }) };
  // Of a video, those that it was made from; of a shot without one, those that it would be made from.
  const first = video === null ? beginningOf(shot, before) : frameOf(video.input, "firstFrame");
  const last = endOf(shot);
  const start = usePrediction(known, video === null || first == null || isUpload(first) ? null : first);
  const isChained = start != null && start.projectId !== projectId;
  const listed = PLAYING_ORDER.filter((step) => predictions[step]?.error || isRunning(predictions[step]));
  // Not disabled: a button would lose the keyboard focus.
  const mover = (Mark: typeof IconArrowUp, where: string, to: number) => (
    <ActionIcon
      variant="default"
      data-disabled={to < 0 || to >= count}
      aria-disabled={to < 0 || to >= count}
      aria-label={`Move ${title} ${where}`}
      onClick={() => onMove(at, to)}
    >
      <Mark size={16} />
    </ActionIcon>
  );
  return (
    <Card component="li" withBorder padding="sm" style={{ overflow: "visible", ...style }}>
      <Group justify="space-between" wrap="nowrap" mb="xs">
        <Text lineClamp={1}>
          {at + 1}.{" "}
          <Anchor component={Link} to={`/projects/${projectId}`}>
            {title}
          </Anchor>
        </Text>
        <Group gap={4} wrap="nowrap">
          <span title="Drag to move" {...handle}>
            <IconGripVertical size={18} style={{ display: "block" }} />
          </span>
          {mover(IconArrowUp, "up", at - 1)}
          {mover(IconArrowDown, "down", at + 1)}
          <ProjectMenu project={shot} onDeleted={() => document.querySelector("main")?.focus()} />
        </Group>
      </Group>
      <Group gap={8} pos="relative" className={screen.large}>
        {first != null && <Frame key={first} project={known} frame={first} alt={`First frame of ${title}`} />}
        {first == null && video !== null && <Thumb prediction={video} alt={`Video of ${title}`} />}
        {last !== null && (
          <>
            <IconArrowRight size={16} />
            <Frame key={last} project={known} frame={last} alt={`Last frame of ${title}`} />
          </>
        )}
        {video?.output ? (
          <UnstyledButton className={link.cover} aria-label={`Play from ${title}`} onClick={() => onPlay(projectId)}>
            <IconPlayerPlay size={18} style={{ display: "block" }} />
          </UnstyledButton>
        ) : (
          !listed.includes("video") && (
            <Text size="sm" c="dimmed">
              No video yet
            </Text>
          )
        )}
      </Group>
      {listed.length > 0 && (
        <Stack component="ul" gap={4} mt={6} className="plain-list" aria-label={`Steps of ${title}`}>
          {listed.map((step) => (
            <Fragment key={step}>
              <StepMark step={step} latest={predictions[step]} take={takes[step]} />
              {predictions[step]?.error && (
                <Text component="li" size="xs" lineClamp={3} title={predictions[step].error.message}>
                  {predictions[step].error.message} {costSentence(predictions[step])}
                </Text>
              )}
            </Fragment>
          ))}
        </Stack>
      )}
      {video !== null && <Outdated project={known} prediction={video} />}
      {isChained && before !== undefined && endOf(before) !== first && (
        <Text size="sm" mt={6}>
          It does not start where shot {at} ends. Generate its video again to join them.
        </Text>
      )}
    </Card>
  );
}

/** The frame that the video of a shot ends on, or would end on: a path or an id. */
const endOf = ({ takes: { video, "last-frame": last } }: Shot): string | null =>
  video === null ? (last?.predictionId ?? null) : frameOf(video.input, "lastFrame");

function FilmMenu({ film, onAdd }: { film: FilmWithShots; onAdd: () => void }) {
  const navigate = useNavigate();
  const change = useChangeFilm(film);
  const removal = useDeleteFilm(film, () => void navigate("/films"));
  return (
    <ActionsMenu
      variant="default"
      size="lg"
      aria-label="Actions for the film"
      actions={[
        { label: "Add a project", Icon: IconPlus, run: onAdd },
        { label: "Share", Icon: IconSend, window: (opened) => <ShareFilm {...opened} film={film} /> },
        {
          label: "Rename",
          Icon: IconPencil,
          window: (opened) => (
            <TitleWindow
              {...opened}
              noun="film"
              initial={film.title}
              saving={change}
              onSubmit={(title) => change.mutate({ title }, { onSuccess: opened.onClose })}
            />
          ),
        },
        {
          label: "Delete",
          Icon: IconTrash,
          isDelete: true,
          window: (opened) => (
            <DeleteWindow {...opened} noun="film" removal={removal} onDelete={() => removal.mutate()}>
              “{film.title}” will be deleted. Its shots stay, as projects without a film.
            </DeleteWindow>
          ),
        },
      ]}
    />
  );
}
