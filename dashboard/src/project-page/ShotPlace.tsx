import { ActionIcon, Group, Text } from "@mantine/core";
import { Link } from "react-router";
import type { Project, Shot } from "../../../client/index.ts";
import { useFilm } from "../queries/film-queries.ts";
import { type Icon, IconArrowLeft, IconArrowRight } from "../ui/icons.tsx";
import { BackLink } from "../ui/page-parts.tsx";

/** The way back: to the projects, or to the film, with the shots before and after this one. */
export function ShotPlace({ project: { projectId, filmId } }: { project: Project }) {
  const { data: film } = useFilm(filmId);
  if (filmId === null) return <BackLink to="/projects" label="Projects" />;
  const at = film?.projectIds.indexOf(projectId) ?? -1;
  return (
    <Group justify="space-between" wrap="nowrap">
      <BackLink to={`/films/${filmId}`} label={film?.title ?? "Film"} />
      {film && at >= 0 && (
        <Group component="nav" aria-label="Shots" gap={6} wrap="nowrap">
          <Text size="sm" c="dimmed" style={{ whiteSpace: "nowrap" }}>
            Shot {at + 1} of {film.shots.length}
          </Text>
          <Neighbor name="Previous" Mark={IconArrowLeft} shot={film.shots[at - 1]} />
          <Neighbor name="Next" Mark={IconArrowRight} shot={film.shots[at + 1]} />
        </Group>
      )}
    </Group>
  );
}

/** Without a shot it looks disabled, so that the other one does not move. */
function Neighbor({ name, Mark, shot }: { name: string; Mark: Icon; shot: Shot | undefined }) {
  const mark = <Mark size={16} />;
  if (shot === undefined)
    return (
      <ActionIcon component="span" variant="default" data-disabled aria-hidden>
        {mark}
      </ActionIcon>
    );
  const label = `${name} shot: ${shot.title}`;
  return (
    <ActionIcon component={Link} to={`/projects/${shot.projectId}`} variant="default" aria-label={label} title={label}>
      {mark}
    </ActionIcon>
  );
}
