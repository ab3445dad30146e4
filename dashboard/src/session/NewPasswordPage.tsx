import { Text, VisuallyHidden } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useNavigate } from "react-router";
import { useServices } from "../app/services-context.ts";
import { checkNewPassword } from "./check-fields.ts";
import { focusFirstError } from "./focus-first-error.ts";
import { PasswordField } from "./PasswordField.tsx";
import { SessionForm } from "./SessionForm.tsx";
import { SessionFrame } from "./SessionFrame.tsx";
import { useSession } from "./session-context.ts";
import { useAuthForm } from "./use-auth-form.ts";

/** Where the link of a reset mail leads. */
export function Component() {
  const { auth } = useServices();
  const { session, endRecovery } = useSession();
  const navigate = useNavigate();
  const { run, isBusy, problem } = useAuthForm(async (password: string) => {
    const answer = await auth.updateUser({ password });
    if (!answer.error) {
      notifications.show({ color: "green", message: "Your new password holds from now on." });
      endRecovery();
      await navigate("/projects", { replace: true });
    }
    return answer;
  });
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { password: "" },
    validate: { password: checkNewPassword },
  });
  const email = session?.user.email ?? "";
  return (
    <SessionFrame>
      <SessionForm
        title="Choose a new password"
        submit="Set the password"
        problem={problem}
        isBusy={isBusy}
        onSubmit={form.onSubmit(({ password }) => run(password), focusFirstError(form))}
      >
        <Text size="sm" c="dimmed" style={{ overflowWrap: "anywhere" }}>
          For {email}
        </Text>
        {/* So that a password manager knows whose password this is. */}
        <VisuallyHidden aria-hidden>
          <input type="text" name="email" autoComplete="username" value={email} readOnly tabIndex={-1} />
        </VisuallyHidden>
        <PasswordField label="New password" isNew key={form.key("password")} {...form.getInputProps("password")} />
      </SessionForm>
    </SessionFrame>
  );
}
