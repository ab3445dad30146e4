import { Alert, NativeSelect } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { hasEnded, type Project, type Shot } from "../../../client/index.ts";
import { useDeleteLater } from "../queries/delete-later.ts";
import { useFilmChoice } from "../queries/film-queries.ts";
import { useKeyframe } from "../services.ts";
import { IconCopy, IconMovie, IconPlayerPlay } from "../ui/Icons.tsx";
import { notify } from "../ui/Notices.tsx";
import { ActionsMenu, deletion, renaming } from "../ui/ActionsMenu.tsx";
import { DeleteDialog, type DialogProps, FormDialog, useTyped } from "../ui/Dialogs.tsx";
import { copyOf, copyTitle, createShot, useDuplicate } from "./create-shot.ts";
import { useChangeProject, runningOf } from "../queries/project-queries.ts";
import { unless } from "../ui/errors.ts";

type Props = {
  project: Project & { predictions?: Shot["predictions"] | undefined };
  /** What the page calls the project. */
  noun: "project" | "shot";
  onDeleted?: (() => void) | undefined;
  /** By default, a toast names the copy. */
  onDuplicated?: (copy: Project) => void;
};

export function ProjectMenu({ project, noun, onDeleted, ...props }: Props) {
  const change = useChangeProject(project.projectId);
  const duplicate = useDuplicate(
    project.projectId,
    project.title,
    async (keyframe, _, once) => {
      const saved = await keyframe.projects.read(project.projectId);
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
        renaming(noun, project.title, change, (title, onDone) => change.mutate({ change: { title } }, onDone)),
        { label: "Duplicate", Icon: IconCopy, run: duplicate },
        {
          label: project.filmId === null ? "Add to a film" : "Move or remove from film",
          Icon: IconMovie,
          dialog: (opened) => <ChooseFilm {...opened} {...{ project, noun }} />,
        },
        deletion((opened) => <DeleteProject {...opened} {...{ project, noun, onDeleted }} />),
      ]}
    />
  );
}

/** Moves a project into a film, as its last shot, or removes it. */
function ChooseFilm({ project: { projectId, title, filmId }, noun, ...opened }: DialogProps & Props) {
  const [{ chosen }, set, dialog] = useTyped<{ chosen?: string }>({}, opened);
  const films = useFilmChoice(dialog.isOpen);
  const change = useChangeProject(projectId);
  const value = chosen ?? filmId ?? "";
  return (
    <FormDialog
      title={`Film of this ${noun}`}
      submit="Save"
      failed="Could not change the film"
      {...dialog}
      saving={{ ...change, error: change.error ?? films.error }}
      canSubmit={films.data !== undefined && value !== (filmId ?? "")}
      onSubmit={() => change.mutate({ change: { filmId: value === "" ? null : value } }, { onSuccess: dialog.onClose })}
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
        onChange={({ currentTarget }) => set({ chosen: currentTarget.value })}
      />
    </FormDialog>
  );
}

function DeleteProject({ project, noun, isOpen, onClose, onDeleted = onClose }: DialogProps & Props) {
  const { projectId: id, title } = project;
  const keyframe = useKeyframe();
  const hide = useDeleteLater({ id, title, remove: (last) => last.projects.delete(id) }, onDeleted);
  const removal = useMutation({
    mutationFn: async () => {
      // All takes are read, because a step shows only the latest one.
      const takes = await Array.fromAsync(keyframe.predictions.each(id, { limit: 100, hidden: "true" }));
      const running = takes.filter((take) => !hasEnded(take));
      if (running.length > 0 && !isRunning) return running; // the dialog asks once more
      for (const one of running) await keyframe.cancel(one).catch(unless("generation_ended"));
      return await hide.mutateAsync();
    },
  });
  const isRunning = removal.data !== undefined || runningOf(project).length > 0;
  return (
    <DeleteDialog
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
    </DeleteDialog>
  );
}
