import { Alert, NativeSelect } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { hasEnded, type KeyframeClient, type Project, type Shot } from "../../../client/index.ts";
import { forget } from "../queries/query-client.ts";
import { useFilmChoice } from "../queries/film-queries.ts";
import { useKeyframe } from "../services.ts";
import { IconMovie, IconPencil, IconPlayerPlay, IconTrash } from "../ui/icons.tsx";
import { ActionsMenu, DeleteWindow, FormWindow, TitleWindow, type WindowProps } from "../ui/windows.tsx";
import { useChangeProject, runningOf } from "../queries/project-queries.ts";
import { isRefusal, unless, unlessGone } from "../ui/errors.ts";

type Props = { project: Project & { predictions?: Shot["predictions"] | undefined }; onDeleted: () => void };

/** The menu of a project, with the windows that it opens. */
export function ProjectMenu({ project, onDeleted }: Props) {
  const change = useChangeProject(project.projectId);
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
        { label: "Film", Icon: IconMovie, window: (opened) => <ChooseFilm {...opened} project={project} /> },
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

/** Puts a project into a film, as its last shot, or takes it out. */
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
            ? "You have no films yet. Make one on the page Films."
            : `“${title}” becomes the last shot of the film that you choose.`
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
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: async (cancelFirst: boolean) => {
      if (cancelFirst) await cancelRunning(keyframe, projectId);
      await keyframe.deleteProject(projectId).catch(unlessGone);
    },
    onSuccess: () => {
      onDeleted();
      forget(queries, projectId);
    },
  });
  const isRefused = isRefusal(remove.error, "generation_in_progress");
  const isRunning = isRefused || runningOf(project).length > 0;
  return (
    <DeleteWindow
      noun="project"
      isOpen={isOpen}
      onClose={onClose}
      removal={isRefused ? { ...remove, error: null } : remove}
      submit={isRunning ? "Cancel and delete" : "Delete project"}
      onDelete={() => remove.mutate(isRunning)}
    >
      “{title}” and its frames, videos and history will be deleted. This cannot be undone.
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

/** Cancels every running prediction of a project. One that has ended meanwhile is fine. */
async function cancelRunning(keyframe: KeyframeClient, projectId: string): Promise<void> {
  for await (const prediction of keyframe.eachPrediction(projectId, { limit: 100 })) {
    if (hasEnded(prediction)) continue;
    await keyframe.cancel(prediction).catch(unless("generation_ended"));
  }
}
