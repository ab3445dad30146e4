import { useNavigate } from "react-router";
import { ProjectModal } from "./ProjectModal.tsx";
import { useCreateProject } from "./use-create-project.ts";

const NOTHING = { title: "", textPrompt: "", description: "" };

type Props = { isOpen: boolean; onClose: () => void };

/** Asks what the film is about, and opens its studio. */
export function NewProject({ isOpen, onClose }: Props) {
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
      failed="The project was not created"
      isBusy={create.isPending}
      error={create.error}
      onSubmit={(texts) => create.mutate(texts)}
    />
  );
}
