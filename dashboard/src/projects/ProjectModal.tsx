import { Button, Group, Modal, Skeleton, Stack, TextInput } from "@mantine/core";
import { type InfiniteData, useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, lazy, Suspense, useState } from "react";
import { useNavigate } from "react-router";
import type { Project, ProjectPage } from "../../../client/index.ts";
import { useKeyframe, useRepeatKey } from "../services.ts";
import { useDraft } from "../session/use-draft.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/messages.tsx";
import type { ProjectTexts } from "./ProjectForm.tsx";
import { eachStep, projectKeys } from "./prediction-cache.ts";
import { useChangeProject } from "./project-queries.ts";

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

type RenameProjectProps = { project: Project; isOpen: boolean; onClose: () => void };

export function RenameProject({ project, isOpen, onClose }: RenameProjectProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const change = useChangeProject(project.projectId);
  const title = typed ?? project.title;
  const close = () => {
    change.reset();
    setTyped(null);
    onClose();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (title.trim() !== "") change.mutate({ change: { title }, unchangedSince: project }, { onSuccess: close });
  };
  return (
    <Modal opened={isOpen} onClose={close} title="Rename project">
      <form noValidate onSubmit={submit}>
        <Stack>
          <TextInput
            label="Title"
            data-autofocus
            maxLength={200}
            value={title}
            error={title.trim() === "" ? "Enter a title." : null}
            onChange={({ currentTarget }) => setTyped(currentTarget.value)}
          />
          {change.error !== null && <ErrorNotice title="Could not rename the project" error={change.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <BusyButton type="submit" isBusy={change.isPending} isOff={title.trim() === ""}>
              Rename
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
