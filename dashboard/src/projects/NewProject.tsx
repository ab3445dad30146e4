import { Modal } from "@mantine/core";
import { type InfiniteData, useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "react-router";
import type { KeyframeClient, ProjectPage } from "../../../client/index.ts";
import { useKeyframe, useRepeatKey } from "../services.ts";
import { useDraft } from "../session/use-draft.ts";
import { ProjectForm, type ProjectTexts } from "./ProjectForm.tsx";
import { eachStep, filmKeys, projectKeys } from "./prediction-cache.ts";
import { isChangedElsewhere } from "../ui/errors.ts";

type NewProjectProps = {
  isOpen: boolean;
  onClose: () => void;
  /** The film whose shot it becomes. */
  filmId?: string | undefined;
  /** The shot that it follows. Default: the film's last one. */
  after?: string | undefined;
};

/** Creates a project and opens its studio. */
export function NewProject({ isOpen, onClose, filmId, after }: NewProjectProps) {
  const navigate = useNavigate();
  const [typed, setTyped] = useDraft("new project", NO_TEXTS);
  const create = useCreateProject({ filmId, after }, (projectId) => {
    setTyped(() => NO_TEXTS);
    void navigate(`/projects/${projectId}`);
  });
  const noun = filmId === undefined ? "project" : "shot";
  const close = () => {
    create.reset();
    onClose();
  };
  const cancel = () => {
    setTyped(() => NO_TEXTS);
    close();
  };
  return (
    <Modal opened={isOpen} onClose={close} title={`New ${noun}`} size="lg">
      <ProjectForm
        noun={noun}
        texts={typed}
        isBusy={create.isPending}
        error={create.error}
        onTyped={(texts) => setTyped(() => texts)}
        onSubmit={create.mutate}
        onCancel={cancel}
      />
    </Modal>
  );
}

const NO_TEXTS: ProjectTexts = { title: "", textPrompt: "", description: "" };

/** Puts the last shot of a film behind another one. When somebody else changes the film at this moment, it stays the last. */
async function moveBehind(keyframe: KeyframeClient, filmId: string, projectId: string, after: string): Promise<void> {
  const film = await keyframe.films.read(filmId);
  const others = film.projectIds.filter((id) => id !== projectId);
  const place = others.indexOf(after) + 1;
  if (place === 0 || place === others.length) return;
  await keyframe.films
    .change(filmId, { projectIds: others.toSpliced(place, 0, projectId) }, { unchangedSince: film })
    .catch((error: unknown) => {
      if (!isChangedElsewhere(error)) throw error;
    });
}

/** Creates a project. The same texts keep their idempotency key, so a retry creates no second one. */
function useCreateProject(
  { filmId, after }: Pick<NewProjectProps, "filmId" | "after">,
  onCreated: (projectId: string) => void,
) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const { keyFor, forget } = useRepeatKey();
  return useMutation({
    mutationFn: async (texts: ProjectTexts) => {
      const body = { ...texts, ...(filmId === undefined ? {} : { filmId }) };
      const project = await keyframe.createProject(body, { idempotencyKey: keyFor(body) });
      if (filmId !== undefined && after !== undefined) await moveBehind(keyframe, filmId, project.projectId, after);
      return project;
    },
    onSuccess: (project) => {
      forget();
      queries.setQueryData<InfiniteData<ProjectPage>>(projectKeys.list(""), (list) => {
        const [first, ...others] = list?.pages ?? [];
        const none = eachStep(() => null);
        const projects = [{ ...project, predictions: none, takes: none }, ...(first?.projects ?? [])];
        return list && first && { ...list, pages: [{ ...first, projects }, ...others] };
      });
      void queries.invalidateQueries({ queryKey: projectKeys.lists });
      void queries.invalidateQueries({ queryKey: filmKeys.all });
      onCreated(project.projectId);
    },
  });
}
