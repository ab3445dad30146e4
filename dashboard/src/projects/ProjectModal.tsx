import { Modal, Skeleton } from "@mantine/core";
import { type ComponentProps, lazy, Suspense } from "react";
import { useOpened } from "../ui/use-opened.ts";

const ProjectForm = lazy(() => import("./ProjectForm.tsx"));

/** As high as the form, so that the window does not grow. */
const FORM_HEIGHT = 430;

type Props = Omit<ComponentProps<typeof ProjectForm>, "onCancel"> & {
  title: string;
  isOpen: boolean;
  onClose: () => void;
};

/** A window for the texts of a project; its form, and the schema it checks by, are loaded when it is first opened. */
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
