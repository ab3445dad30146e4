import { Alert, NativeSelect } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { hasEnded, type Prediction, type Project, type Shot } from "../../../client/index.ts";
import { useDeleteLater } from "../queries/delete-later.tsx";
import { useFilmChoice } from "../queries/film-queries.ts";
import { type PageClient, useKeyframe } from "../services.ts";
import { IconCopy, IconMovie, IconPencil, IconPlayerPlay, IconTrash } from "../ui/icons.tsx";
import { notify } from "../ui/notices.tsx";
import { ActionsMenu, DeleteWindow, FormWindow, TitleWindow, type WindowProps } from "../ui/windows.tsx";
import { copyOf, copyTitle, createShot, useDuplicate } from "./create-shot.ts";
import { useChangeProject, runningOf } from "../queries/project-queries.ts";
import { unless } from "../ui/errors.ts";

type Props = {
  project: Project & { predictions?: Shot["predictions"] | undefined };
  /** What the page calls it. */
  noun: "project" | "shot";
  onDeleted?: (() => void) | undefined;
  /** By default a toast is shown. */
  onDuplicated?: (copy: Project) => void;
};

export function ProjectMenu({ project, noun, onDeleted, ...props }: Props) {
  const change = useChangeProject(project.projectId);
  const duplicate = useDuplicate(
    project.projectId,
    project.title,
    async (keyframe, _, once) => {
      const saved = await keyframe.readProject(project.projectId);
      return createShot(keyframe, { ...copyOf(saved), title: copyTitle(saved.title) }, once, saved);
    },
    props.onDuplicated ?? (({ title }) => notify(`“${title}” was created.`)),
  );
  return (
    <ActionsMenu
      variant="subtle"
      color="gray"
      aria-label={`Actions for ${project.title}`}
      actions={[
        {
          label: "Rename",
          Icon: IconPencil,
          window: (opened) => (
            <TitleWindow
              {...opened}
              noun={noun}
              initial={project.title}
              saving={change}
              onSubmit={(title) => change.mutate({ change: { title } }, { onSuccess: opened.onClose })}
            />
          ),
        },
        { label: "Duplicate", Icon: IconCopy, run: duplicate },
        {
          label: project.filmId === null ? "Add to a film" : "Move or remove from film",
          Icon: IconMovie,
          window: (opened) => <ChooseFilm {...opened} {...{ project, noun }} />,
        },
        {
          label: "Delete",
          Icon: IconTrash,
          isDelete: true,
          window: (opened) => <DeleteProject {...opened} {...{ project, noun, onDeleted }} />,
        },
      ]}
    />
  );
}

/** Moves a project into a film, as its last shot, or removes it. */
function ChooseFilm({ project: { projectId, title, filmId }, noun, isOpen, onClose }: WindowProps & Props) {
  const [chosen, setChosen] = useState<string>();
  const films = useFilmChoice(isOpen);
  const change = useChangeProject(projectId);
  const value = chosen ?? filmId ?? "";
  const close = () => {
    setChosen(undefined);
    onClose();
  };
  return (
    <FormWindow
      title={`Film of this ${noun}`}
      submit="Save"
      failed="Could not change the film"
      isOpen={isOpen}
      onClose={close}
      saving={{ ...change, error: change.error ?? films.error }}
      canSubmit={films.data !== undefined && value !== (filmId ?? "")}
      onSubmit={() => change.mutate({ change: { filmId: value === "" ? null : value } }, { onSuccess: close })}
    >
      <NativeSelect
        label="Film"
        description={
          films.data?.length === 0
            ? "You have no films yet. Create one on the Films page."
            : `“${title}” will be added at the end of that film.`
        }
        data-autofocus
        data={[
          { value: "", label: "None" },
          ...(films.data ?? []).map((film) => ({ value: film.filmId, label: film.title })),
        ]}
        value={value}
        onChange={({ currentTarget }) => setChosen(currentTarget.value)}
      />
    </FormWindow>
  );
}

function DeleteProject({ project, noun, isOpen, onClose, onDeleted = onClose }: WindowProps & Props) {
  const { projectId: id, title } = project;
  const keyframe = useKeyframe();
  const hide = useDeleteLater({ id, title, remove: (last) => last.deleteProject(id) }, onDeleted);
  const removal = useMutation({
    mutationFn: async () => {
      const running = await runningIn(keyframe, id);
      if (running.length > 0 && !isRunning) return running; // asks once more
      for (const one of running) await keyframe.cancel(one).catch(unless("generation_ended"));
      return await hide.mutateAsync();
    },
  });
  const isRunning = removal.data !== undefined || runningOf(project).length > 0;
  return (
    <DeleteWindow
      noun={noun}
      isOpen={isOpen}
      onClose={onClose}
      removal={removal}
      submit={isRunning ? "Cancel and delete" : `Delete ${noun}`}
    >
      “{title}” and all its takes will be deleted. You can undo it for ten seconds.
      <div role="status">
        {isRunning && (
          <Alert mt="md" color="gray" icon={<IconPlayerPlay />} title="A step is still running">
            It will be canceled. The provider may charge for what it has done so far.
          </Alert>
        )}
      </div>
    </DeleteWindow>
  );
}

/** All running predictions of a project: its steps show only the latest of several takes. */
async function runningIn(keyframe: PageClient, projectId: string): Promise<Prediction[]> {
  const running: Prediction[] = [];
  for await (const prediction of keyframe.eachPrediction(projectId, { limit: 100, hidden: "true" }))
    if (!hasEnded(prediction)) running.push(prediction);
  return running;
}
