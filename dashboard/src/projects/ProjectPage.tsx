import { ActionIcon, Box, Group, Text, VisuallyHidden } from "@mantine/core";
import { useDidUpdate, usePrevious } from "@mantine/hooks";
import { useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import type { ProjectWithPredictions, Shot } from "../../../client/index.ts";
import { NewProject } from "./NewProject.tsx";
import { ProjectMenu } from "./ProjectMenu.tsx";
import { knownOf } from "../prompts/mentions.ts";
import { useCast } from "../queries/element-queries.ts";
import { useFilm } from "../queries/film-queries.ts";
import { projectNoun, runningOf, useProject, useReadAgainAtEnds } from "../queries/project-queries.ts";
import { PLAYING_ORDER, STATUS_WORD, STEP_NAME } from "../takes/status-words.ts";
import { NewButton } from "../ui/Buttons.tsx";
import { isGone } from "../ui/errors.ts";
import { type Icon, IconArrowLeft, IconArrowRight } from "../ui/Icons.tsx";
import { BackLink, Missing, PageHead, Unread } from "../ui/PageParts.tsx";
import { useDialog } from "../ui/Dialogs.tsx";
import { AspectRatio, CastChoice, ReferenceImage } from "./ProjectFields.tsx";
import classes from "./project-page.module.css";
import { StepStrip } from "./StepStrip.tsx";
import { TextsPanel } from "./TextsPanel.tsx";
import { useTexts } from "./use-texts.ts";

export default function ProjectPage() {
  const { projectId = "" } = useParams();
  const project = useProject(projectId);
  if (isGone(project.error)) {
    return <Missing title="Project not found" to="/projects" label="Go to projects" />;
  }
  if (project.data !== undefined) return <ProjectView key={projectId} project={project.data} />;
  return (
    <>
      <PageHead title="Project" />
      <Unread query={project} what="the project" heights={[185, 590]} />
    </>
  );
}

function ProjectView({ project }: { project: ProjectWithPredictions }) {
  const cast = useCast(project);
  const texts = useTexts(project);
  useReadAgainAtEnds(runningOf(project));
  return (
    <>
      <ProjectHead project={project} />
      <Group align="flex-start" gap="lg" mb="md">
        <Box flex="1 1 400px" miw={0}>
          <TextsPanel state={texts} elements={knownOf(cast)}>
            <AspectRatio project={project} />
            <CastChoice project={project} />
          </TextsPanel>
        </Box>
        <ReferenceImage project={project} />
      </Group>
      <StepStrip project={project} texts={texts} />
      <StatusAnnouncer project={project} />
    </>
  );
}

function ProjectHead({ project }: { project: ProjectWithPredictions }) {
  const { title, takes, filmId } = project;
  const navigate = useNavigate();
  const next = useDialog();
  const isMade = takes.video !== null && !takes.video.outdated;
  return (
    <>
      <div className={classes.head}>
        <ShotPlace project={project} />
        <PageHead
          title={title}
          actions={
            <Group gap="xs" wrap="nowrap">
              {filmId !== null && (takes["last-frame"] ?? takes.video) !== null && (
                <NewButton variant={isMade ? "filled" : "default"} onClick={next.open}>
                  New shot after this
                </NewButton>
              )}
              <ProjectMenu
                project={project}
                noun={projectNoun(project)}
                onDuplicated={(copy) => void navigate(`/projects/${copy.projectId}`)}
                onDeleted={() => void navigate(filmId === null ? "/projects" : `/films/${filmId}`)}
              />
            </Group>
          }
        />
      </div>
      {filmId !== null && <NewProject {...next.dialog} filmId={filmId} before={project} />}
    </>
  );
}

function ShotPlace({ project: { projectId, filmId } }: { project: ProjectWithPredictions }) {
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

/** Without a shot, the arrow looks disabled, so that the other arrow does not move. */
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

/** Announces status changes to screen readers, not progress or time. */
function StatusAnnouncer({ project: { predictions } }: { project: ProjectWithPredictions }) {
  const now = PLAYING_ORDER.map((step) => {
    const prediction = predictions[step];
    return prediction === null ? "" : `${STEP_NAME[step]}: ${STATUS_WORD[prediction.status]}.`;
  });
  const [text, setText] = useState("");
  const before = usePrevious(now);
  useDidUpdate(() => {
    const changed = now.filter((words, at) => words !== "" && words !== before?.[at]);
    if (changed.length > 0) setText(changed.join(" "));
  }, [now.join(" ")]);
  return <VisuallyHidden role="status">{text}</VisuallyHidden>;
}
