import { Alert, NativeSelect } from "@mantine/core";
import { useDidUpdate } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { hasEnded, type KeyframeClient, type Prediction, type Project, type Shot } from "../../../client/index.ts";
import { useDeleteLater } from "../queries/delete-later.tsx";
import { useFilmChoice } from "../queries/film-queries.ts";
import { useKeyframe, useOnce } from "../services.ts";
import { IconCopy, IconMovie, IconPencil, IconPlayerPlay, IconTrash } from "../ui/icons.tsx";
import { notify, notifyError } from "../ui/notices.tsx";
import { ActionsMenu, DeleteWindow, FormWindow, TitleWindow, type WindowProps } from "../ui/windows.tsx";
import { createShot } from "./create-shot.ts";
import { useChangeProject, runningOf } from "../queries/project-queries.ts";
import { unless } from "../ui/errors.ts";

type Props = {
  project: Project & { predictions?: Shot["predictions"] | undefined };
  onDeleted: () => void;
  /** By default a toast is shown. */
  onDuplicated?: (copy: Project) => void;
};

/** The menu of a project, with the windows that it opens. */
export function ProjectMenu({ project, onDeleted, ...props }: Props) {
  const change = useChangeProject(project.projectId);
  const duplicate = useDuplicate(project, props.onDuplicated ?? (({ title }) => notify(`“${title}” was created.`)));
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
              noun="project"
              initial={project.title}
              saving={change}
              onSubmit={(title) => change.mutate({ change: { title } }, { onSuccess: opened.onClose })}
            />
          ),
        },
        {
          label: "Duplicate",
          Icon: IconCopy,
          run: () => !duplicate.isPending && duplicate.mutate(duplicateOf(project)),
        },
        {
          label: "Move or remove from film",
          Icon: IconMovie,
          window: (opened) => <ChooseFilm {...opened} project={project} />,
        },
        {
          label: "Delete",
          Icon: IconTrash,
          isDelete: true,
          window: (opened) => <DeleteProject {...opened} {...{ project, onDeleted }} />,
        },
      ]}
    />
  );
}

/** A title has at most 200 characters. */
const copyTitle = (title: string) => `${[...title].slice(0, 193).join("")} (copy)`;

const duplicateOf = ({ title, textPrompt, description, aspectRatio, filmId, elementIds, plan }: Project) => ({
  ...{ title: copyTitle(title), textPrompt, description, aspectRatio, elementIds, plan },
  ...(filmId !== null && { filmId }),
});

/** Copies a project with its settings; in a film, after it. Its takes are not copied. */
function useDuplicate(project: Project, onDone: (copy: Project) => void) {
  const duplicate = useOnce(
    (keyframe, asked: ReturnType<typeof duplicateOf>, once) => createShot(keyframe, asked, project, once),
    onDone,
    ["duplicate", project.projectId],
  );
  useDidUpdate(() => {
    if (duplicate.error !== null) notifyError(`Could not duplicate “${project.title}”`, duplicate.error);
  }, [duplicate.error]);
  return duplicate;
}

/** Moves a project into a film, as its last shot, or removes it. */
function ChooseFilm({ project: { projectId, title, filmId }, isOpen, onClose }: WindowProps & { project: Project }) {
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
      title="Film of this shot"
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

function DeleteProject({ project, isOpen, onClose, onDeleted }: WindowProps & Props) {
  const { projectId, title } = project;
  const keyframe = useKeyframe();
  const deleteLater = useDeleteLater();
  const remove = useMutation({
    mutationFn: async (cancelsFirst: boolean) => {
      const running = await runningIn(keyframe, projectId);
      if (running.length > 0 && !cancelsFirst) return false;
      for (const one of running) await keyframe.cancel(one).catch(unless("generation_ended"));
      await deleteLater({ id: projectId, title, remove: (last) => last.deleteProject(projectId) });
      return true;
    },
    onSuccess: (isDone) => isDone && onDeleted(),
  });
  const isRunning = remove.data === false || runningOf(project).length > 0;
  return (
    <DeleteWindow
      noun="project"
      isOpen={isOpen}
      onClose={onClose}
      removal={remove}
      submit={isRunning ? "Cancel and delete" : "Delete project"}
      onDelete={() => remove.mutate(isRunning)}
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
async function runningIn(keyframe: KeyframeClient, projectId: string): Promise<Prediction[]> {
  const running: Prediction[] = [];
  for await (const prediction of keyframe.eachPrediction(projectId, { limit: 100, hidden: "true" }))
    if (!hasEnded(prediction)) running.push(prediction);
  return running;
}
