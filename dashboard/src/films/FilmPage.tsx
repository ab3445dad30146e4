import { ActionIcon, Anchor, Card, Grid, Group, Stack, Text, VisuallyHidden } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import {
  IconArrowDown,
  IconArrowRight,
  IconArrowUp,
  IconDownload,
  IconGripVertical,
  IconMovie,
  IconPencil,
  IconTrash,
} from "@tabler/icons-react";
import { type ComponentProps, type CSSProperties, useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import type { FilmWithShots, Shot } from "../../../client/index.ts";
import { NewProject } from "../projects/NewProject.tsx";
import { ProjectMenu } from "../projects/ProjectMenu.tsx";
import { isGone } from "../ui/errors.ts";
import { STEP_NAME } from "../projects/status-words.ts";
import { Thumb } from "../studio/Sources.tsx";
import { FilmVideo } from "../studio/StepScreen.tsx";
import screen from "../studio/screen.module.css";
import { BackLink, EmptyState, Missing, PageHead, Unread } from "../ui/page-parts.tsx";
import { ActionsMenu, DeleteWindow, TitleWindow } from "../ui/windows.tsx";
import { DownloadFilm } from "./DownloadFilm.tsx";
import { useChangeFilm, useDeleteFilm, useFilm } from "./film-queries.ts";
import { useDragOrder } from "./use-drag-order.ts";
import { NewButton } from "../ui/buttons.tsx";
import { ErrorNotice } from "../ui/notices.tsx";

export function Component() {
  const { filmId = "" } = useParams();
  const film = useFilm(filmId);
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
  const newShot = <NewButton onClick={shot.open}>New shot</NewButton>;
  const hasVideo = shots.some(({ takes }) => takes.video !== null);
  return (
    <>
      <BackLink to="/films" label="Films" />
      <PageHead
        title={film.title}
        actions={
          <Group gap="xs" wrap="nowrap">
            {shots.length > 0 && newShot}
            <FilmMenu film={film} />
          </Group>
        }
      />
      <ErrorNotice title="Could not change the order" error={change.error} />
      {shots.length === 0 && (
        <EmptyState
          Icon={IconMovie}
          title="No shots yet"
          text="A shot is a project of this film. Make a new one, or choose this film in the menu of a project."
          action={newShot}
        />
      )}
      <Grid gap="lg">
        {hasVideo && (
          <Grid.Col span={{ base: 12, md: 7 }}>
            <FilmPlayer shots={shots} />
          </Grid.Col>
        )}
        <Grid.Col span={{ base: 12, md: hasVideo ? 5 : 12 }}>
          <Stack component="ol" gap="sm" className="plain-list" aria-label="Shots">
            {shots.map((one, at) => (
              <ShotRow
                key={one.projectId}
                shot={one}
                before={shots[at - 1]}
                at={at}
                count={shots.length}
                onMove={move}
                handle={handleOf(at)}
                style={styleOf(at)}
              />
            ))}
          </Stack>
        </Grid.Col>
      </Grid>
      <VisuallyHidden role="status">{moved}</VisuallyHidden>
      <NewProject isOpen={isNew} onClose={shot.close} filmId={film.filmId} />
    </>
  );
}

/** Plays the videos of the shots one after the other, in one player: another one would end full screen and lose the focus. */
function FilmPlayer({ shots }: { shots: Shot[] }) {
  const [played, setPlayed] = useState(0);
  const videos = shots.flatMap(({ title, takes: { video } }, at) =>
    video?.output ? [{ title, number: at + 1, video, output: video.output }] : [],
  );
  const shown = videos[played] ?? videos[0];
  if (shown === undefined) return null;
  const { title, number, video, output } = shown;
  return (
    <>
      <div className={screen.screen}>
        <FilmVideo
          prediction={video}
          output={output}
          label={`Shot ${number}: ${title}`}
          autoPlay={played > 0}
          onEnded={() => setPlayed((played + 1) % videos.length)}
        />
      </div>
      <Text size="sm" c="dimmed" mt={6}>
        Shot {number} of {shots.length}: {title}
      </Text>
    </>
  );
}

type ShotRowProps = {
  shot: Shot;
  before: Shot | undefined;
  at: number;
  count: number;
  onMove: (from: number, to: number) => void;
  handle: ComponentProps<"span">;
  style: CSSProperties;
};

function ShotRow({ shot, before, at, count, onMove, handle, style }: ShotRowProps) {
  const { projectId, title, takes } = shot;
  const first = takes["first-frame"] ?? before?.takes["last-frame"];
  const last = takes["last-frame"];
  // Not disabled: a button would lose the keyboard focus.
  const mover = (Mark: typeof IconArrowUp, where: string, to: number) => (
    <ActionIcon
      variant="default"
      data-disabled={to < 0 || to >= count}
      aria-disabled={to < 0 || to >= count}
      aria-label={`Move ${title} ${where}`}
      onClick={() => onMove(at, to)}
    >
      <Mark size={16} aria-hidden />
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
            <IconGripVertical size={18} aria-hidden style={{ display: "block" }} />
          </span>
          {mover(IconArrowUp, "up", at - 1)}
          {mover(IconArrowDown, "down", at + 1)}
          <ProjectMenu project={shot} onDeleted={() => document.querySelector("main")?.focus()} />
        </Group>
      </Group>
      <Group gap="xs" className={screen.large}>
        {first != null && <Thumb prediction={first} alt={`${STEP_NAME[first.step]} that ${title} starts on`} />}
        {last !== null && (
          <>
            <IconArrowRight size={16} aria-hidden />
            <Thumb prediction={last} alt={`Last frame of ${title}`} />
          </>
        )}
        {takes.video === null && (
          <Text size="sm" c="dimmed">
            No video yet
          </Text>
        )}
      </Group>
    </Card>
  );
}

function FilmMenu({ film }: { film: FilmWithShots }) {
  const navigate = useNavigate();
  const change = useChangeFilm(film);
  const removal = useDeleteFilm(film, () => void navigate("/films"));
  return (
    <ActionsMenu
      variant="default"
      size="lg"
      aria-label="Actions for the film"
      actions={[
        { label: "Download", Icon: IconDownload, window: (opened) => <DownloadFilm {...opened} film={film} /> },
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
