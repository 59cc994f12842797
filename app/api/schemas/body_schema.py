"""What the schemas of request bodies have in common."""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import EXCLUDE, Schema, ValidationError, missing, validates_schema


class BodySchema(Schema):
    """The fields of a JSON body that the contract names; `needed` are those that it must have."""

    needed: ClassVar[tuple[str, ...]]

    class Meta:
        """The gateway forwards or rejects other fields."""

        unknown = EXCLUDE

    def check_together(self, values: Mapping[str, Any]) -> None:
        """Check what no field can check alone.

        Raises: ValidationError.
        """

    @validates_schema(skip_on_field_errors=True)
    def _check_together(self, values: Mapping[str, Any], **_: Any) -> None:
        self.check_together(values)

    def checked(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the checked fields of a body; those that are null are left out.

        Raises: ValidationError, with the faults of all fields.
        """
        try:
            values = self._checked_singly(body)
            self.check_together(values)
        except ValidationError:
            self.load(body)  # collects the faults of all fields, at several times the cost
            raise
        return values

    def _checked_singly(self, body: Mapping[str, Any]) -> dict[str, Any]:
        known, values = self.fields, {}
        for name, value in body.items():
            if name in known:
                value = known[name].deserialize(value)  # noqa: PLW2901
                if value is not None:
                    values[name] = value
        for name in self.needed:
            if name not in values:
                known[name].deserialize(missing)
        return values
