import type { ListedProject } from "../../../client/index.ts";
import { ProjectModal } from "./ProjectModal.tsx";
import { useChangeProject } from "./use-change-project.ts";

type Props = { project: ListedProject; isOpen: boolean; onClose: () => void };

/** Renames a project, or changes what it is about. */
export function ChangeProject({ project, isOpen, onClose }: Props) {
  const { projectId, title, textPrompt, description } = project;
  const change = useChangeProject(projectId);
  const close = () => {
    change.reset();
    onClose();
  };
  return (
    <ProjectModal
      title="Change the project"
      isOpen={isOpen}
      onClose={close}
      initial={{ title, textPrompt, description }}
      submit="Save"
      failed="The change was not saved"
      isBusy={change.isPending}
      error={change.error}
      onSubmit={(texts) => change.mutate(texts, { onSuccess: close })}
    />
  );
}
