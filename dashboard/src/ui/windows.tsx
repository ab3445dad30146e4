import { ActionIcon, Button, Group, Menu, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type ComponentProps, type FormEvent, Fragment, type ReactNode, useRef, useState } from "react";
import { BusyButton } from "./buttons.tsx";
import { titleProblem } from "./errors.ts";
import { type Icon, IconDots, IconPencil, IconTrash } from "./icons.tsx";
import { ErrorNotice } from "./notices.tsx";
import { focusOnMount, KeepFocus, useLast, useModal, type WindowProps } from "./window-focus.ts";

export type { WindowProps } from "./window-focus.ts";

/** What opens a window, and the window's props. */
export function useWindow(): { open: () => void; window: WindowProps } {
  const [isOpen, { open, close }] = useDisclosure(false);
  return { open, window: { isOpen, onClose: close } };
}

/** What is typed and chosen in a window, until it closes; returned with the props of the window. */
export function useTyped<Fields extends object>(initial: Fields, { isOpen, onClose }: WindowProps) {
  const [typed, setTyped] = useState(initial);
  const set = (changed: Partial<Fields>) => setTyped((all) => ({ ...all, ...changed }));
  const close = () => {
    setTyped(initial);
    onClose();
  };
  return [typed, set, { isOpen, onClose: close }] as const;
}

export type Action = {
  label: string;
  Icon: Icon;
  run?: () => unknown;
  /** Opens this instead. */
  window?: (opened: WindowProps) => ReactNode;
  isDelete?: boolean;
};

/** Deletes, once it is confirmed in this window. */
export const deletion = (window: NonNullable<Action["window"]>): Action => ({
  label: "Delete",
  Icon: IconTrash,
  isDelete: true,
  window,
});

type Rename = (title: string, onDone: { onSuccess: () => void }) => void;

export const renaming = (noun: string, title: string, saving: Saving, rename: Rename): Action => ({
  label: "Rename",
  Icon: IconPencil,
  window: (opened) => (
    <TitleWindow
      {...opened}
      noun={noun}
      initial={title}
      saving={saving}
      onSubmit={(typed) => rename(typed, { onSuccess: opened.onClose })}
    />
  ),
});

type ActionsProps = Omit<ComponentProps<typeof ActionIcon<"button">>, "children"> & {
  /** Those that are false are not offered. */
  actions: (Action | false)[];
};

/** A button with a menu of actions. Not in a portal, so that it belongs to the window or the landmark that it is in. */
export function ActionsMenu({ actions: given, ...button }: ActionsProps) {
  const actions = given.filter((one) => one !== false);
  const target = useRef<HTMLButtonElement>(null);
  const [opened, setOpened] = useState<string | null>(null);
  // Only the one that was opened: a film has a menu for each of its shots.
  const last = useLast(opened);
  const window = actions.find(({ label }) => label === last)?.window;
  return (
    <>
      <Menu position="bottom-end" withinPortal={false}>
        <Menu.Target>
          <ActionIcon ref={target} {...button}>
            <IconDots size={18} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {actions.map(({ label, Icon: Mark, run = () => setOpened(label), isDelete = false }) => (
            <Menu.Item
              key={label}
              c={`var(--mantine-color-${isDelete ? "error" : "text"})`}
              leftSection={<Mark size={16} />}
              onClick={() => {
                target.current?.focus(); // a modal returns the focus to the element that had it; this item is gone by then
                run();
              }}
            >
              {label}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <Fragment key={last}>{window?.({ isOpen: opened !== null, onClose: () => setOpened(null) })}</Fragment>
    </>
  );
}

type Saving = { error: unknown; isPending: boolean; reset: () => void };

type FormWindowProps = WindowProps & {
  title: string;
  submit: string;
  cancel?: string;
  /** The title of an error. */
  failed: string;
  saving: Saving;
  canSubmit?: boolean;
  /** It cannot be undone. */
  isHarmful?: boolean;
  size?: "lg";
  /** Replaces the form once it is set. */
  done?: ReactNode;
  /** The cancel button was pressed: the typed text is discarded. */
  onCancel?: () => void;
  onSubmit: (form: HTMLFormElement) => void;
  children: ReactNode;
};

export function FormWindow({ isOpen, onClose, title, failed, saving, canSubmit = true, ...form }: FormWindowProps) {
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
                isOff={!canSubmit}
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

type TitleWindowProps = WindowProps & {
  /** The kind of thing, such as “film”. */
  noun: string;
  /** The title that is changed; empty for something new. */
  initial?: string;
  saving: Saving;
  onSubmit: (title: string) => void;
};

export function TitleWindow({ noun, initial = "", saving, onSubmit, ...opened }: TitleWindowProps) {
  const isNew = initial === "";
  const [typed, set, window] = useTyped<{ title?: string }>({}, opened);
  const { title = initial } = typed;
  const problem = titleProblem(title);
  return (
    <FormWindow
      {...window}
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
    </FormWindow>
  );
}

type DeleteWindowProps = WindowProps & {
  verb?: "Delete" | "Revoke";
  /** What is deleted, such as “film”. */
  noun: string;
  removal: Saving & { mutate: () => void };
  submit?: string;
  children: ReactNode;
};

/** Confirms a deletion and shows why it may be refused. */
export const DeleteWindow = ({ verb = "Delete", noun, removal, children, ...window }: DeleteWindowProps) => (
  <FormWindow
    {...window}
    submit={window.submit ?? `${verb} ${noun}`}
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
  </FormWindow>
);
