import { Modal, Skeleton } from "@mantine/core";
import { type InfiniteData, useMutation, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { useNavigate } from "react-router";
import type { ProjectPage } from "../../../client/index.ts";
import { useKeyframe, useRepeatKey } from "../services.ts";
import { useDraft } from "../session/use-draft.ts";
import type { ProjectTexts } from "./ProjectForm.tsx";
import { eachStep, projectKeys } from "./prediction-cache.ts";

const ProjectForm = lazy(() => import("./ProjectForm.tsx"));

/** The form's height, so that the modal does not grow. */
const FORM_HEIGHT = 430;

type NewProjectProps = { isOpen: boolean; onClose: () => void };

/** Creates a project and opens its studio. The form and its schema load when the modal first opens. */
export function NewProject({ isOpen, onClose }: NewProjectProps) {
  const navigate = useNavigate();
  const [typed, setTyped] = useDraft("new project", NO_TEXTS);
  const create = useCreateProject((projectId) => {
    setTyped(NO_TEXTS);
    void navigate(`/projects/${projectId}`);
  });
  const close = () => {
    create.reset();
    onClose();
  };
  const cancel = () => {
    setTyped(NO_TEXTS);
    close();
  };
  return (
    <Modal opened={isOpen} onClose={close} title="New project" size="lg">
      <Suspense fallback={<Skeleton h={FORM_HEIGHT} />}>
        <ProjectForm
          initial={typed}
          isBusy={create.isPending}
          error={create.error}
          onTyped={setTyped}
          onSubmit={create.mutate}
          onCancel={cancel}
        />
      </Suspense>
    </Modal>
  );
}

const NO_TEXTS: ProjectTexts = { title: "", textPrompt: "", description: "" };

/** Creates a project. The same texts keep their idempotency key, so a retry creates no second one. */
function useCreateProject(onCreated: (projectId: string) => void) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const { keyFor, forget } = useRepeatKey();
  return useMutation({
    mutationFn: (texts: ProjectTexts) => keyframe.createProject(texts, { idempotencyKey: keyFor(texts) }),
    onSuccess: (project) => {
      forget();
      queries.setQueryData<InfiniteData<ProjectPage>>(projectKeys.list(""), (list) => {
        const [first, ...others] = list?.pages ?? [];
        const none = eachStep(() => null);
        const projects = [{ ...project, predictions: none, takes: none }, ...(first?.projects ?? [])];
        return list && first && { ...list, pages: [{ ...first, projects }, ...others] };
      });
      void queries.invalidateQueries({ queryKey: projectKeys.lists });
      onCreated(project.projectId);
    },
  });
}
