import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type FormEvent, type ReactNode, useState } from "react";
import { BusyButton } from "./Buttons.tsx";
import { titleProblem } from "./errors.ts";
import { ErrorNotice } from "./Notices.tsx";
import { type DialogProps, focusOnMount, KeepFocus, useModal } from "./dialog-focus.ts";

export type { DialogProps } from "./dialog-focus.ts";

export function useDialog(): { open: () => void; dialog: DialogProps } {
  const [isOpen, { open, close }] = useDisclosure(false);
  return { open, dialog: { isOpen, onClose: close } };
}

/** What is typed and chosen in a dialog, until it closes. Returned with the props of the dialog. */
export function useTyped<Fields extends object>(initial: Fields, { isOpen, onClose }: DialogProps) {
  const [typed, setTyped] = useState(initial);
  const set = (changed: Partial<Fields>) => setTyped((all) => ({ ...all, ...changed }));
  const close = () => {
    setTyped(initial);
    onClose();
  };
  return [typed, set, { isOpen, onClose: close }] as const;
}

export type Saving = { error: unknown; isPending: boolean; reset: () => void };

type FormDialogProps = DialogProps & {
  title: string;
  submit: string;
  cancel?: string;
  /** The title of an error. */
  failed: string;
  saving: Saving;
  canSubmit?: boolean;
  /** Whether the action cannot be undone. */
  isHarmful?: boolean;
  size?: "lg";
  /** Once set, it replaces the form. */
  done?: ReactNode;
  /** Runs when the user presses Cancel, to discard the typed text. */
  onCancel?: () => void;
  onSubmit: (form: HTMLFormElement) => void;
  children: ReactNode;
};

export function FormDialog({ isOpen, onClose, title, failed, saving, canSubmit = true, ...form }: FormDialogProps) {
  const close = () => {
    saving.reset();
    onClose();
  };
  const cancel = () => {
    form.onCancel?.();
    close();
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (canSubmit && !saving.isPending) form.onSubmit(event.currentTarget);
  };
  return (
    <Modal
      {...useModal({ isOpen, onClose: close })}
      title={title}
      size={form.size ?? "md"}
      closeOnClickOutside={!saving.isPending}
    >
      <KeepFocus />
      {form.done ? (
        <Stack>
          {form.done}
          <Group justify="flex-end">
            {/* The button that was pressed is gone. */}
            <Button ref={focusOnMount} variant="default" onClick={close}>
              Done
            </Button>
          </Group>
        </Stack>
      ) : (
        <form
          noValidate
          onSubmit={submit}
          onKeyDown={({ key, ctrlKey, metaKey, target, currentTarget }) => {
            const isFinished = key === "Enter" && (ctrlKey || metaKey) && target instanceof HTMLTextAreaElement;
            if (isFinished) currentTarget.requestSubmit();
          }}
        >
          <Stack>
            {form.children}
            <ErrorNotice title={failed} error={saving.error} />
            <Group justify="flex-end">
              <Button variant="default" onClick={cancel} data-autofocus>
                {form.cancel ?? "Cancel"}
              </Button>
              <BusyButton
                type="submit"
                color={form.isHarmful ? "red.9" : "iris"}
                isBusy={saving.isPending}
                isDisabled={!canSubmit}
              >
                {form.submit}
              </BusyButton>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}

type TitleDialogProps = DialogProps & {
  /** The kind of thing, such as “film”. */
  noun: string;
  /** The title that is changed. Empty for something new. */
  initial?: string;
  saving: Saving;
  onSubmit: (title: string) => void;
};

export function TitleDialog({ noun, initial = "", saving, onSubmit, ...opened }: TitleDialogProps) {
  const isNew = initial === "";
  const [typed, set, dialog] = useTyped<{ title?: string }>({}, opened);
  const { title = initial } = typed;
  const problem = titleProblem(title);
  return (
    <FormDialog
      {...dialog}
      saving={saving}
      title={`${isNew ? "New" : "Rename"} ${noun}`}
      submit={isNew ? `Create ${noun}` : "Rename"}
      failed={`Could not ${isNew ? "create" : "rename"} the ${noun}`}
      canSubmit={problem === null}
      onSubmit={() => onSubmit(title)}
    >
      <TextInput
        label="Title"
        data-autofocus
        maxLength={200}
        value={title}
        error={typed.title !== undefined && problem}
        onChange={({ currentTarget }) => set({ title: currentTarget.value })}
      />
    </FormDialog>
  );
}

type DeleteDialogProps = DialogProps & {
  verb?: "Delete" | "Revoke";
  /** What is deleted, such as “film”. */
  noun: string;
  removal: Saving & { mutate: () => void };
  submit?: string;
  children: ReactNode;
};

export const DeleteDialog = ({ verb = "Delete", noun, removal, children, ...dialog }: DeleteDialogProps) => (
  <FormDialog
    {...dialog}
    submit={dialog.submit ?? `${verb} ${noun}`}
    title={`${verb} ${noun}?`}
    cancel={`Keep ${noun}`}
    failed={`Could not ${verb.toLowerCase()} the ${noun}`}
    saving={removal}
    isHarmful
    onSubmit={() => removal.mutate()}
  >
    <Text size="sm" component="div" style={{ overflowWrap: "anywhere" }}>
      {children}
    </Text>
  </FormDialog>
);
