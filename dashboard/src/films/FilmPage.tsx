import { ActionIcon, Anchor, Button, Card, Group, Modal, Skeleton, Stack, Text, VisuallyHidden } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconArrowDown, IconArrowLeft, IconArrowUp, IconMovie, IconPlus, IconTrash } from "@tabler/icons-react";
import { Link, useNavigate, useParams } from "react-router";
import type { FilmWithShots, Shot } from "../../../client/index.ts";
import { NewProject } from "../projects/NewProject.tsx";
import { isGone } from "../projects/project-queries.ts";
import { FILM_ORDER, STEP_NAME } from "../projects/status-words.ts";
import { Thumb } from "../studio/Sources.tsx";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/messages.tsx";
import { EmptyState, Missing, PageHead } from "../ui/page-parts.tsx";
import { useChangeFilm, useDeleteFilm, useFilm } from "./film-queries.ts";

export function Component() {
  const { filmId = "" } = useParams();
  const { data, error, refetch } = useFilm(filmId);
  if (isGone(error)) {
    const text = "It was deleted or belongs to another account.";
    return <Missing title="Film not found" text={text} to="/films" label="Go to films" />;
  }
  if (data !== undefined) return <FilmView key={filmId} film={data} />;
  return (
    <>
      <PageHead title="Film" />
      {error !== null && <ErrorNotice title="Could not load the film" error={error} onRetry={() => void refetch()} />}
      {error === null && (
        <>
          <VisuallyHidden role="status">Loading the film</VisuallyHidden>
          <Skeleton h={240} />
        </>
      )}
    </>
  );
}

function FilmView({ film }: { film: FilmWithShots }) {
  const navigate = useNavigate();
  const [isNew, shot] = useDisclosure(false);
  const [isDeleting, remove] = useDisclosure(false);
  const change = useChangeFilm(film);
  /** Puts the shot at `from` in the place of its neighbour. */
  const swap = (from: number, to: number) => {
    const projectIds = film.projectIds.toSpliced(from, 1).toSpliced(to, 0, film.projectIds[from] ?? "");
    if (!change.isPending) change.mutate({ projectIds });
  };
  const newShot = (
    <Button leftSection={<IconPlus size={18} aria-hidden />} onClick={shot.open}>
      New shot
    </Button>
  );
  return (
    <>
      <Anchor component={Link} to="/films" size="sm" style={{ display: "inline-flex", alignItems: "center", gap: 4 }}>
        <IconArrowLeft size={16} aria-hidden /> Films
      </Anchor>
      <PageHead
        title={film.title}
        actions={
          <Group gap="xs">
            {film.shots.length > 0 && newShot}
            <ActionIcon variant="default" size="lg" aria-label="Delete the film" onClick={remove.open}>
              <IconTrash size={18} aria-hidden />
            </ActionIcon>
          </Group>
        }
      />
      <Stack gap="sm">
        {change.error !== null && <ErrorNotice title="Could not change the order" error={change.error} />}
        {film.shots.length === 0 && (
          <EmptyState Icon={IconMovie} title="No shots yet" text="A shot is a project of this film." action={newShot} />
        )}
        <Stack component="ol" gap="sm" m={0} p={0} style={{ listStyle: "none" }} aria-label="Shots">
          {film.shots.map((one, at) => (
            <ShotRow key={one.projectId} shot={one} number={at + 1} count={film.shots.length} onMove={swap} />
          ))}
        </Stack>
      </Stack>
      <NewProject isOpen={isNew} onClose={shot.close} filmId={film.filmId} />
      <DeleteFilm film={film} isOpen={isDeleting} onClose={remove.close} onDeleted={() => void navigate("/films")} />
    </>
  );
}

type ShotRowProps = { shot: Shot; number: number; count: number; onMove: (from: number, to: number) => void };

function ShotRow({ shot: { projectId, title, takes }, number, count, onMove }: ShotRowProps) {
  const made = FILM_ORDER.filter((step) => takes[step] !== null);
  return (
    <Card component="li" withBorder padding="sm">
      <Group justify="space-between" wrap="nowrap">
        <Group gap="sm" wrap="nowrap" miw={0}>
          <Text c="dimmed" style={{ fontVariantNumeric: "tabular-nums" }}>
            {number}
          </Text>
          <Anchor component={Link} to={`/projects/${projectId}`} lineClamp={1}>
            {title}
          </Anchor>
          {(["first-frame", "last-frame"] as const).map((step) => {
            const take = takes[step];
            return take === null ? null : <Thumb key={step} prediction={take} alt={`${STEP_NAME[step]} of ${title}`} />;
          })}
          <Text size="sm" c="dimmed" visibleFrom="sm">
            {made.length === 0 ? "Nothing yet" : made.map((step) => STEP_NAME[step]).join(" · ")}
          </Text>
        </Group>
        <ActionIcon.Group>
          <ActionIcon
            variant="default"
            size="lg"
            disabled={number === 1}
            aria-label={`Move ${title} up`}
            onClick={() => onMove(number - 1, number - 2)}
          >
            <IconArrowUp size={18} aria-hidden />
          </ActionIcon>
          <ActionIcon
            variant="default"
            size="lg"
            disabled={number === count}
            aria-label={`Move ${title} down`}
            onClick={() => onMove(number - 1, number)}
          >
            <IconArrowDown size={18} aria-hidden />
          </ActionIcon>
        </ActionIcon.Group>
      </Group>
    </Card>
  );
}

type DeleteFilmProps = { film: FilmWithShots; isOpen: boolean; onClose: () => void; onDeleted: () => void };

function DeleteFilm({ film, isOpen, onClose, onDeleted }: DeleteFilmProps) {
  const remove = useDeleteFilm(film, onDeleted);
  const close = () => {
    remove.reset();
    onClose();
  };
  return (
    <Modal opened={isOpen} onClose={close} title="Delete film?" centered>
      <Stack>
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          “{film.title}” will be deleted. Its shots stay, as projects without a film.
        </Text>
        {remove.error !== null && <ErrorNotice title="Could not delete the film" error={remove.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close} data-autofocus>
            Keep film
          </Button>
          <BusyButton color="red.9" isBusy={remove.isPending} onClick={() => remove.mutate()}>
            Delete film
          </BusyButton>
        </Group>
      </Stack>
    </Modal>
  );
}
