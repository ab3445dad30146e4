import { Modal, Skeleton } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ComponentProps, lazy, Suspense, useRef } from "react";
import { useNavigate } from "react-router";
import type { ListedProject } from "../../../client/index.ts";
import { randomKey } from "../../../client/random-key.ts";
import { useKeyframe } from "../services.ts";
import { useOpened } from "../ui/window-focus.ts";
import { editList, type ProjectTexts, useChangeProject } from "./project-queries.ts";

const ProjectForm = lazy(() => import("./ProjectForm.tsx"));

/** The form's height, so that the modal does not grow. */
const FORM_HEIGHT = 430;

type Props = Omit<ComponentProps<typeof ProjectForm>, "onCancel"> & {
  title: string;
  isOpen: boolean;
  onClose: () => void;
};

/** The form and its schema load when the modal first opens. */
export function ProjectModal({ title, isOpen, onClose, ...form }: Props) {
  return (
    <Modal
      opened={useOpened(isOpen)}
      onClose={onClose}
      title={title}
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Suspense fallback={<Skeleton h={FORM_HEIGHT} />}>
        <ProjectForm {...form} onCancel={onClose} />
      </Suspense>
    </Modal>
  );
}

const NOTHING = { title: "", textPrompt: "", description: "" };

type NewProjectProps = { isOpen: boolean; onClose: () => void };

/** Creates a project and opens its studio. */
export function NewProject({ isOpen, onClose }: NewProjectProps) {
  const navigate = useNavigate();
  const create = useCreateProject((projectId) => void navigate(`/projects/${projectId}`));
  return (
    <ProjectModal
      title="New project"
      isOpen={isOpen}
      onClose={() => {
        create.reset();
        onClose();
      }}
      initial={NOTHING}
      submit="Create project"
      failed="Could not create the project"
      isBusy={create.isPending}
      error={create.error}
      onSubmit={(texts) => create.mutate(texts)}
    />
  );
}

type ChangeProjectProps = { project: ListedProject; isOpen: boolean; onClose: () => void };

export function ChangeProject({ project, isOpen, onClose }: ChangeProjectProps) {
  const { projectId, title, textPrompt, description } = project;
  const change = useChangeProject(projectId);
  const close = () => {
    change.reset();
    onClose();
  };
  return (
    <ProjectModal
      title="Edit project"
      isOpen={isOpen}
      onClose={close}
      initial={{ title, textPrompt, description }}
      submit="Save"
      failed="Could not save"
      isBusy={change.isPending}
      error={change.error}
      onSubmit={(texts) => change.mutate(texts, { onSuccess: close })}
    />
  );
}

const NONE = { "first-frame": null, "last-frame": null, video: null };

/** Creates a project. The same texts keep their idempotency key, so a retry creates no second one. */
function useCreateProject(onCreated: (projectId: string) => void) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const sent = useRef<{ body: string; key: string } | null>(null);
  return useMutation({
    mutationFn: (texts: ProjectTexts) => {
      const body = JSON.stringify(texts);
      if (sent.current?.body !== body) sent.current = { body, key: randomKey() };
      return keyframe.createProject(texts, { idempotencyKey: sent.current.key });
    },
    onSuccess: (project) => {
      sent.current = null;
      editList(queries, (projects, isFirstPage) =>
        isFirstPage ? [{ ...project, predictions: NONE }, ...projects] : projects,
      );
      onCreated(project.projectId);
    },
  });
}
