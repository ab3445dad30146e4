import { ActionIcon, Box, Group, NativeSelect, type NativeSelectProps, Text, VisuallyHidden } from "@mantine/core";
import { useId, useWindowEvent } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import type { Project, ProjectWithPredictions, Shot } from "../../../client/index.ts";
import { useCast } from "../queries/element-queries.ts";
import { useFilm } from "../queries/film-queries.ts";
import { knownOf } from "../prompts/mentions.ts";
import { NewProject } from "../projects/NewProject.tsx";
import { ProjectMenu } from "../projects/ProjectMenu.tsx";
import {
  projectNoun,
  useChangeProject,
  useProject,
  useReadAgainAtEnds,
  runningOf,
} from "../queries/project-queries.ts";
import { PLAYING_ORDER, STATUS_WORD, STEP_NAME } from "../takes/status-words.ts";
import { errorSentence, isGone } from "../ui/errors.ts";
import { type Icon, IconArrowLeft, IconArrowRight } from "../ui/icons.tsx";
import { BackLink, Missing, PageHead, Unread } from "../ui/page-parts.tsx";
import { NewButton } from "../ui/buttons.tsx";
import { useWindow } from "../ui/windows.tsx";
import { StepStrip } from "./StepStrip.tsx";
import { ImageField } from "../step-settings/ImageField.tsx";
import screen from "../takes/takes.module.css";
import classes from "./project-page.module.css";
import { TextsPanel } from "./TextsPanel.tsx";
import { useTexts } from "./use-texts.ts";
import { useModels } from "../queries/use-models.ts";

export function Component() {
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
  const { title, predictions, takes, filmId } = project;
  const next = useWindow();
  const isMade = takes.video !== null && !takes.video.outdated;
  const navigate = useNavigate();
  const cast = useCast(project);
  const texts = useTexts(project);
  useWindowEvent("keydown", generateByKeys);
  useReadAgainAtEnds(runningOf(project));
  return (
    <>
      <div className={classes.head}>
        <Place project={project} />
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
      <Group align="flex-start" gap="lg" mb="md">
        <Box flex="1 1 400px" miw={0}>
          <TextsPanel state={texts} elements={knownOf(cast)}>
            <AspectRatio project={project} />
            <Cast project={project} />
          </TextsPanel>
        </Box>
        <ReferenceImage project={project} />
      </Group>
      <StepStrip project={project} texts={texts} />
      {filmId !== null && <NewProject {...next.window} filmId={filmId} before={project} />}
      <StatusAnnouncer predictions={predictions} />
    </>
  );
}

/** The way back: to the projects, or to the film, with the shots before and after this one. */
function Place({ project: { projectId, filmId } }: { project: Project }) {
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
          <Beside name="Previous" Mark={IconArrowLeft} shot={film.shots[at - 1]} />
          <Beside name="Next" Mark={IconArrowRight} shot={film.shots[at + 1]} />
        </Group>
      )}
    </Group>
  );
}

function Beside({ name, Mark, shot }: { name: string; Mark: Icon; shot: Shot | undefined }) {
  const mark = <Mark size={16} />;
  // A place of its own for the other one.
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

/** The project's image. */
function ReferenceImage({ project }: { project: ProjectWithPredictions }) {
  const { projectId, referenceImagePath: path } = project;
  const change = useChangeProject(projectId);
  return (
    <Box component="section" w={220} aria-label="Reference image" className={screen.preview}>
      <ImageField
        project={project}
        label="Reference image"
        {...(path === null && {
          description: "Frames follow its look. Drop or choose a PNG, JPEG or WebP file of at most 10 MiB.",
        })}
        noun="reference image"
        addLabel="Choose image"
        images={path === null ? [] : [path]}
        max={1}
        error={change.error}
        onChange={([image = null]) => change.mutate({ change: { referenceImagePath: image } })}
      />
    </Box>
  );
}

/** Ctrl+Enter generates the step that it is pressed in; elsewhere the one that is next. */
function generateByKeys(event: KeyboardEvent): void {
  const { target, key, ctrlKey, metaKey } = event;
  if (key !== "Enter" || !(ctrlKey || metaKey) || !(target instanceof Element) || target.closest("[role=dialog]"))
    return;
  event.preventDefault();
  const card = target.closest("article");
  (card ?? document).querySelector<HTMLElement>(card ? "[data-generate]" : "[data-generate=next]")?.click();
}

/** Announces status changes to screen readers, not progress or time. */
function StatusAnnouncer({ predictions }: Pick<ProjectWithPredictions, "predictions">) {
  const now = PLAYING_ORDER.map((step) => {
    const prediction = predictions[step];
    return prediction === null ? "" : `${STEP_NAME[step]}: ${STATUS_WORD[prediction.status]}.`;
  });
  const [text, setText] = useState("");
  const before = useRef(now);
  const all = now.join(" ");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the joined text stands for the list
  useEffect(() => {
    const changed = now.filter((words, at) => words !== "" && words !== before.current[at]);
    before.current = now;
    if (changed.length > 0) setText(changed.join(" "));
  }, [all]);
  return <VisuallyHidden role="status">{text}</VisuallyHidden>;
}

/** The aspect ratio of all steps of a project: a choice of those that its models take. */
function AspectRatio({ project: { projectId, aspectRatio } }: { project: Project }) {
  const models = useModels();
  const change = useChangeProject(projectId);
  const offered = Object.values(models).flatMap((ofStep) =>
    ofStep.flatMap(({ controls }) => controls.aspectRatio?.values ?? []),
  );
  const ratios = [...new Set([aspectRatio, ...offered.map(String)])].toSorted(
    (one, other) => widthOf(other) - widthOf(one),
  );
  return (
    <SmallSelect
      label="Aspect ratio"
      w={84}
      data={ratios}
      value={change.isPending ? (change.variables.change.aspectRatio ?? aspectRatio) : aspectRatio}
      error={change.error}
      onChoose={(value) => change.mutate({ change: { aspectRatio: value } })}
    />
  );
}

/** Whether a shot is made with the cast of its film, or only with those that its prompt names. Nothing where there is no cast. */
function Cast({ project }: { project: Project }) {
  const { projectId, elementIds } = project;
  const { ofFilm } = useCast(project);
  const change = useChangeProject(projectId);
  if (ofFilm.length === 0) return null;
  return (
    <SmallSelect
      label="Cast"
      w={140}
      data={[
        { value: "film", label: ofFilm.map(({ name }) => name).join(", ") },
        { value: "named", label: "Only by @name" },
        ...(elementIds?.length ? [{ value: "own", label: `${elementIds.length} of its own` }] : []),
      ]}
      value={elementIds === null ? "film" : elementIds.length === 0 ? "named" : "own"}
      error={change.error}
      onChoose={(value) => value !== "own" && change.mutate({ change: { elementIds: value === "film" ? null : [] } })}
    />
  );
}

type SmallSelectProps = {
  label: string;
  w: number;
  data: NonNullable<NativeSelectProps["data"]>;
  value: string;
  error: unknown;
  onChoose: (value: string) => void;
};

function SmallSelect({ label, error, onChoose, ...select }: SmallSelectProps) {
  const id = useId();
  return (
    <Group gap={6} wrap="nowrap">
      <Text component="label" htmlFor={id} size="sm">
        {label}
      </Text>
      <NativeSelect
        {...select}
        id={id}
        size="xs"
        error={error === null ? undefined : errorSentence(error)}
        onChange={({ currentTarget: { value } }) => onChoose(value)}
      />
    </Group>
  );
}

/** The width for a height of 1. */
function widthOf(ratio: string): number {
  const [width = 1, height = 1] = ratio.split(":").map(Number);
  return width / height;
}
